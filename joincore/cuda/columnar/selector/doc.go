// Package selector chooses the algorithm that joins columns in device memory, and runs it.
// It asks the decision tree and the cost model of package costmodel, with the device's
// rates and the sizes of the join. Where it can change the choice, the selector also reads
// the range of the build keys; for large joins it looks up a sample of keys.
//
// Measure measures the rates of a device. It joins generated columns in a given arena and
// copies between host and device, which takes about 0.3 s on an H200.
//
// The description of joins and the list of measured joins need no device. Everything else
// needs cgo and has the build tag cuda.
package selector
