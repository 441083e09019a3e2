package kernels

// MaxRows is the exclusive limit on the rows of a side of a join, of a space and of an
// input: row ids have 32 bits, and the padding of partitions needs some of them.
const MaxRows = 1<<32 - 1<<20
