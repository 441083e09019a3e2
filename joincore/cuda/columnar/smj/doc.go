// Package smj runs sort-merge joins over columns in device memory: SMJ-OM sorts
// payload with the key (GFTR); SMJ-UM sorts row ids with the key and gathers
// payload at the end (GFUR).
//
// A join knows how much memory it needs before its first allocation (volume.go).
// If that exceeds its bound or the free memory, SMJ-OM sorts one payload column
// at a time, and row ids lie in the result's own columns until the last of these
// has been gathered.
//
// Both sides are sorted by the top bits of a bijective hash of the key. The sort
// uses as many bits as it takes to tell the build rows apart, so the number of
// passes depends on the number of rows only, not on the width or distribution of
// keys. The merge compares whole hashes of rows with equal bits. The result has
// no order.
//
// Everything but the plan needs cgo and has the build tag cuda.
package smj
