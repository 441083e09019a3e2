// Package auto chooses which algorithm joins columns in device memory, and runs
// it: what the decision tree and the model of package choose say, from the
// device's rates, the sizes of the join and, of large ones, a sample of keys.
//
// Everything else of it but the description of joins needs cgo and is built
// with the tag cuda.
package auto
