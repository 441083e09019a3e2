// Package selector chooses the algorithm that joins columns in device memory, and
// runs it. It asks the decision tree and the cost model of package costmodel, with
// the device's rates and the sizes of the join. Where it can change the choice,
// the selector also reads the range of the build keys; for large joins it looks
// up a sample of keys.
//
// Everything but the description of joins needs cgo and has the build tag cuda.
package selector
