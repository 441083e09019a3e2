// Package rowid has the device steps from which every join is made: importing
// validity and values of variable length, filters, gathers, and a general
// match of all kinds of joins. It is the Go side of kernels/entry/general.cu.
//
// # Words
//
// A space is a set of rows. It covers inputs; of each it has a position
// vector, the row of the input for every row of the space, or none where the
// two are the same. A position of None is a row that is not there, the NULL
// side of an outer join. A Column is a column of an input as the rows of a
// space see it. Row numbers are uint32; a space has fewer than MaxRows rows.
//
// # Use
//
// Kernels are loaded once a context. A Queue is a stream with an arena, used
// by one goroutine at a time. Every step is asynchronous and done in order;
// results lie in memory that the caller gives or the arena has, which is a
// stack: who takes memory rewinds it. A Count is a number that only the device
// knows, a Histogram several: futures, which the queue does not wait for.
// Awaiting one is a host synchronisation.
//
//	Unpack, Spans      what importing needs beside plain copies
//	Filter             the row numbers for which a condition is true, in order
//	Keyed, Keys        the row numbers that have a key, and the keys as a column
//	Number, Compose    positions, and positions of positions
//	Gather             values by position
//	Pack               validity as a batch wants it
//	Partition          keys and row ids by partition of the key's hash
//	Prepare            a Join: the build side in partitions, or in one table
//	Join.Probe         pairs, in one pass, into a region that is drained when
//	                   it is full: no result size is ever guessed
//	Join.Leftover      build rows with or without a partner
//
// Conditions are programs (package program) that the match evaluates on each
// pair with equal keys; so are comparisons of keys that were hashed. NULL keys
// are set aside before a side is partitioned: such rows are never marked, and
// are found again by what is not marked.
//
// # Destinations
//
// A partition pass writes by a table that says where each partition begins, and
// how many rows it has room for, in each lane of a row: arrays of 4, 8 and 16
// bytes in which the words of a row lie. A join's own partitions lie one after
// the other in the arena. Others may lie anywhere that the device can write to,
// in packets or in memory of a peer; where one lacks room nothing is written.
// A row id is a row number behind the origin of its device (device.RowIDs).
//
// # Memory
//
// Partitioning a side takes at most 2 * (4 + key bytes) a row, of which half
// stays while the side is used. Marks take a bit a row.
package rowid
