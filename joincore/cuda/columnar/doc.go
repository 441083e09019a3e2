// Package columnar defines what the join algorithms over columns in device memory
// share: the two sides of a join, its result, and a report of its cost. Packages
// phj, smj and npj implement Func; the provider and bench-gpu call it.
//
// Everything but Bound needs cgo and has the build tag cuda.
package columnar
