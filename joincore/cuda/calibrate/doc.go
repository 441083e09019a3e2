// Package calibrate measures the rates of a device that the cost model (package
// costmodel) needs. It joins generated columns in a given arena and copies between
// host and device, which takes about 0.3 s on an H200.
//
// Everything but the list of joins needs cgo and has the build tag cuda.
package calibrate
