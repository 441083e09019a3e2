// Package driver is the CUDA driver as joins use it: devices and their primary
// contexts, modules and launches, streams, events, arenas of device memory and
// page-locked host memory. It knows nothing of joins.
//
// It stands on gorgonia.org/cu. What that lacks is in two files, the only ones
// with cgo: shim.go, and managed.go for memory whose pages move. Importing cu
// initialises the driver, and ends the process where there is none that works:
// only a process that is there for the device may link this package.
//
// Threads. Every call may come from any goroutine: it makes its context current
// on the calling thread first. No call waits for the device but Stream.Sync and
// the Close methods. Sync leaves the waiting to one thread a context, so that
// goroutines that wait cost no threads and can be cancelled.
//
// Memory. Copies are asynchronous: what they read and write must be page-locked
// (Pinned, Register) and stay until the stream has been synchronised. Memory of
// the Go heap is never handed to the device.
//
// Everything but this file needs cgo and is built with the tag cuda.
package driver
