// Package outofcore joins inputs that exceed device memory (the co-processing join
// of HAPE). Both sides are partitioned by a hash of their keys, and co-partitions
// are joined one after the other by row id.
//
// # Division
//
// Windows of an input are uploaded, kernels order their rows and columns by
// partition, and the result is downloaded into memory of the job, all three at the
// same time. Meanwhile, if there is one device, cores partition windows from the
// other end of the input; these are uploaded only once. A co-partition consists of one piece of each
// window. Row ids are kept only if a later step reads columns that did not move.
//
// The first windows stay on the device, as many as it has memory for, and are not
// downloaded (a hybrid join). Columns of 8 bytes are stored in 4 if their values
// allow that.
//
// If the job gets too little memory for that, or a column is wider than kernels
// can move, cores partition row ids alone and rows are gathered while they are
// uploaded.
//
// The hash differs from that of joins, so that the keys of a co-partition are
// distributed like any others.
//
// # Slabs
//
// Partitioned rows wait in slabs of the process, which are page-locked for all devices
// after their first use and kept for other joins for a while, also for those that want up to a
// third less. The job allocates as many bytes of its own memory, so that they count towards
// its budget, and does not touch them. It uses its own memory instead if that is registered,
// small, or if there are no slabs.
//
// # The execution
//
// Resources is what a join here needs of its surroundings; package cuda implements
// it. The pool of slabs and the partitioning of row ids need no device; everything
// else has the build tag cuda.
package outofcore
