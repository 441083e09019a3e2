// Package columnar joins columns in device memory. It defines what all algorithms share:
// the two sides of a join, its result, a report of its cost, and Job, which runs a join
// that consists of a few kernels. A Job takes memory from the join's arena, writes
// descriptors, launches kernels, records times, waits once for the number of result rows,
// and returns the result's columns. Package phj is built on it, and so are the two
// algorithms of this package.
//
// # NPJ
//
// All build rows are entered in one hash table, or in an array if the keys are dense.
//
// # SMJ
//
// SMJ-OM sorts payload with the key (GFTR); SMJ-UM sorts row ids with the key and gathers
// payload at the end (GFUR). A join knows how much memory it needs before its first
// allocation (smjVolume). If that exceeds its bound or the free memory, SMJ-OM sorts
// one payload column at a time, and row ids are stored in the result's own columns until
// the last of these has been gathered.
//
// Both sides are sorted by the top bits of a bijective hash of the key. The sort uses as
// many bits as it takes to tell the build rows apart, so the number of passes depends on
// the number of rows only, not on the width or distribution of keys. The merge compares
// whole hashes of rows with equal bits. The result has no order.
//
// Bound, descriptors, and the models of memory use and traffic need no device. Everything
// else needs cgo and has the build tag cuda.
package columnar
