// Package calibrate measures what the model of package choose needs to know of a
// device, by running joins of made-up columns and copies over the link: some
// 0.3 s on an H200, and memory of the arena that it is given.
//
// Everything else of it but the list of joins needs cgo and is built with the tag cuda.
package calibrate
