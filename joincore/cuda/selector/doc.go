// Package selector chooses which algorithm joins columns in device memory, and runs
// it: what the decision tree and the model of package choose say, from the
// device's rates and the sizes of the join; where that may decide, also from the
// range of the build keys, and of large joins from a sample of keys.
//
// Everything else of it but the description of joins needs cgo and is built
// with the tag cuda.
package selector
