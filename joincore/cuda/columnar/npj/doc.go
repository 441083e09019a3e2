// Package npj runs joins without partitions over columns in device memory: one
// hash table over all build rows, which is an array where the keys are dense.
//
// Everything else of it but the descriptor and the model of what a join moves
// needs cgo and is built with the tag cuda.
package npj
