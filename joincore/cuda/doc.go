// Package cuda is the CUDA provider: a device.Bulk over the memory of one
// NVIDIA GPU.
//
// # Memory
//
// A provider maps its budget of device memory once, as one arena, and divides
// it into workspaces; an execution takes the largest workspace that is free. A workspace is a
// stack at the front, for the steps of a plan and their results, and a heap
// cut off its end, for what does not live like a stack: imported columns and
// collections. Nothing is allocated from the driver while a plan runs.
//
// # Transfers
//
// Import remembers an input; a column crosses the link when a step first reads
// it, whole, on a stream of its own, so that columns that are read later cross
// while the device works. Host memory that was registered with the provider is
// copied where it lies; other memory through page-locked buffers. Values of
// variable length, and values of widths that no kernel moves, are read on the
// device only where they are keys; in results they are copied on the host, by
// row number, straight from the input into the sink's batch.
//
// # Larger than the device
//
// A view is a set of rows of an input with columns of its own on the device. A
// large probe side comes in windows, views of neighbouring segments: one crosses
// the link, into the half of a ring that the one before the last has left,
// while the one before is joined and its result goes back.
//
// Where the build side does not fit, both sides are divided by a hash of their
// keys, and co-partitions are joined one after the other. Windows cross the
// link, kernels put their rows into the order of partitions, columns and all,
// and they go back to memory of the job at the same time. Meanwhile cores do
// the same to windows from the other end: what they divide crosses only once.
// A co-partition is a piece of each window; row numbers go along only where
// something that is not moved is read by them. Where the job gets too little
// memory for that, or a column is wider than kernels move, cores divide row
// numbers alone and rows are gathered when they cross.
//
// What goes back lies in slabs of the provider's own, which are page-locked when
// the first job that has them gives them back, and kept for others for a while. The job
// allocates as much of its memory, so that it is granted, and leaves it
// untouched; it is used itself where it is registered, small, or slabs cannot be
// had.
//
// What fits neither way is joincore.ErrBudget: a build side that is itself a
// result, or that has one key too often, or a key of variable length.
//
// # Joins
//
// An inner join of keys that are one number of 8 bytes at most, or several side by
// side, with all its inputs at hand, takes both sides whole and moves payload with
// the key where that is cheaper (package selector). Rows without a key are left out
// before. All other joins find pairs of row numbers (package rowid) and leave payload
// to whoever reads it: those of other kinds and keys, of results, and of what
// comes in windows or co-partitions.
//
// # Hashes
//
// A join hashes its keys by one bijection (kernels/block/hash.cuh), of which no two
// decisions see the same bits: partitions are numbered by the highest, those of
// the first pass above those of the second, and buckets of a partition's table by
// the lowest. A seed is mixed in first, so that nobody can choose keys that meet:
// it is drawn once a process, for all devices. Division hashes in another way, so that to its join a
// co-partition's keys are like any others. No bits choose a device: a join runs
// on one.
//
// # Work
//
// All steps of an execution are queued on one stream in order. Filter and Probe
// wait for the numbers of rows that they make, by futures of package rowid, so that
// Rows is known; what Gather and Measure return is pending. Results are gathered
// on further streams, one for each stream of the execution, so that one batch
// crosses the link while the next one is gathered.
//
// Everything that needs cgo is built with the tag cuda.
package cuda
