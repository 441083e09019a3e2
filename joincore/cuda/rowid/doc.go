// Package rowid has the device steps of late materialisation, from which every
// join can be made: importing validity and values of variable length, filters,
// gathers, and a match of all kinds of joins. It is the Go side of
// kernels/entry/general.cu.
//
// # Terms
//
// A space is a set of rows over one or more inputs. For each input it has a
// position vector: for each row of the space the row of the input, or nothing if
// the two are the same. A position of None is a missing row, the NULL side of an
// outer join. A Column is a column of an input as the rows of a space see it. Row
// ids are uint32; a space has fewer than kernels.MaxRows rows.
//
// # Use
//
// Kernels are loaded once for each context. A Queue is a stream with an arena,
// used by one goroutine at a time. Steps are asynchronous and run in order.
// Results lie in memory that the caller passes or that the arena provides. The
// arena is a stack: whoever takes memory rewinds it. A Count is a number that only
// the device knows, a Histogram several. Both are futures that the queue does not
// wait for; awaiting one synchronises the host.
//
//	Unpack, Spans      what importing needs in addition to copies
//	Filter             the row ids for which a condition is true, in order
//	Keyed, Keys        the row ids that have a key, and the keys as a column
//	Number, Compose    positions, and positions of positions
//	Gather             values by position
//	Pack               validity as a batch stores it
//	Partition          keys and row ids by partition of the key's hash
//	Prepare            a Join: the build side in partitions, or in one table
//	Join.Probe         pairs, in one pass, into a buffer that is drained when it
//	                   is full: no result size is ever guessed
//	Join.Leftover      build rows with or without a partner
//
//	NewGroups          Groups: rows in a hash table, which grows
//	Groups.Add         the rows of a space, filtered, to their groups
//	Groups.Finish      the groups as columns
//
// Conditions are programs (package program) that the match evaluates for each pair
// with equal keys; hashed keys are compared in the same way. Rows with a NULL key
// are set aside before a side is partitioned. Such rows are never marked, so a
// step that returns unmarked rows finds them again.
//
// # Destinations
//
// A row of key and row id is stored in one to three arrays, its lanes, of 4, 8 and
// 16 bytes. A partition pass writes through a table that gives the address and the
// capacity of each partition and lane. A join's own partitions lie one after the
// other in the arena. Others may lie anywhere that the device can write: in
// packets, or in memory of a peer. If one has too little capacity, nothing is
// written. A row id counts from the origin of its device (device.RowIDs).
//
// # Memory
//
// Partitioning a side takes at most 2 * (4 + key bytes) for each row; half of that
// stays while the side is in use. Marks take a bit for each row.
package rowid
