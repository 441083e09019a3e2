// Package launch runs one join of a few kernels over columns in device memory:
// memory from the join's arena, descriptors, launches, marks for times, the one
// wait for the result's row count, and the result's columns. smj and npj are
// built on it.
//
// Everything else of it but the descriptors and the model of random accesses
// needs cgo and is built with the tag cuda.
package launch
