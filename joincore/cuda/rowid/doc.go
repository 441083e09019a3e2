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
// arena is a stack: whoever takes memory rewinds it. Steps that return a number of rows
// wait for the device.
//
//	Unpack, Spans      what importing needs in addition to copies
//	Filter             the row ids for which a condition is true, in order
//	Keyed, Keys        the row ids that have a key, and the keys as a column
//	Number, Compose    positions, and positions of positions
//	Gather             values by position
//	Pack               validity as a batch stores it
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
// # Memory
//
// A row of key and row id is stored in one to three arrays, its stripes, of 4, 8 and
// 16 bytes. A partition pass writes through a table that gives the destination of each
// partition and stripe.
//
// Partitioning a side takes at most 2 * (4 + key bytes) for each row; half of that
// stays while the side is in use. Marks take a bit for each row.
//
// # Kernels for one program
//
// A program that is used often gets a kernel of its own. SpecialiseText makes it from the
// PTX of the kernel that interprets programs: it evaluates the parts that depend on the
// program alone, which fetch and decode instructions and choose an operation, a width or a
// place. The work on rows remains, one piece for each instruction. A program so means the
// same in both kernels, which have the same source. On an H100, an aggregate of 2^28 rows
// takes 2.6 ms interpreted and 1.5 ms in its own kernel with one group, 4.5 and 2.2 ms
// with 2^10 groups, 18.8 and 16.3 ms with 2^20 (docs/internals/gpu-kernels.md; bench-gpu
// measures both, with -interpret and without it).
//
// This is partial evaluation of an interpreter with a fixed program (Futamura, 1971) by
// polyvariant specialisation of basic blocks: a block is copied once for each set of
// values that its registers are known to have.
//
// The kernel asks for what is fixed by pseudo-instructions (kernels/block/fixed.cuh):
//
//	gj.code d, at;     // the instruction at `at`
//	gj.column d, i;    // what is fixed of a column
//	gj.fixed d, n;     // a number of the launch
//	gj.keep d, s;      // s, which must be known: how the interpreter advances
//
// Registers with one definition are known if an instruction that can be evaluated makes
// them of known ones. Those with several are known only if all definitions copy results
// of these pseudo-instructions: any other value that depends on the path might differ
// between threads of a warp, which would then never execute the same copy of a block
// again.
package rowid
