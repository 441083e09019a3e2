// Package calibrate measures the rates of a device that the cost model (package
// choose) needs. It joins generated columns in the arena that it is given and
// copies between host and device; this takes about 0.3 s on an H200.
//
// Everything but the list of joins needs cgo and has the build tag cuda.
package calibrate
