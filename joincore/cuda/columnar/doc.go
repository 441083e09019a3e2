// Package columnar has what the join algorithms over columns in device memory
// share: a join's two sides, its result and what it cost. phj, smj and npj
// implement Func; the provider and the bench call it.
//
// Everything else of it needs cgo and is built with the tag cuda.
package columnar
