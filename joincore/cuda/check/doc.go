// Package check compares joins over columns in device memory with a reference
// on the host. The tests of the algorithms are built on it; they need a GPU and
// run from a binary (go test -c -tags cuda).
package check
