// Package npj runs joins without partitions over columns in device memory. All
// build rows go into one hash table, or into an array if the keys are dense.
//
// Everything but the descriptor and the model of a join's traffic needs cgo and
// has the build tag cuda.
package npj
