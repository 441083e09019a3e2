// Package launch runs a join that consists of a few kernels over columns in device
// memory. It takes memory from the join's arena, writes descriptors, launches
// kernels, records times, waits once for the number of result rows, and returns
// the result's columns. Packages phj, smj and npj are built on it; the descriptors of results and their
// kernels are those of smj and npj.
//
// Everything but the descriptors and the model of random accesses needs cgo and
// has the build tag cuda.
package launch
