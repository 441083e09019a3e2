// Package driver wraps the CUDA driver for joins: devices and their primary
// contexts, modules and launches, streams, events, arenas of device memory and
// page-locked host memory. It contains nothing specific to joins but the seed of
// their hash.
//
// It builds on gorgonia.org/cu. Two files with cgo add what that lacks: shim.go, and
// managed.go for managed memory. Importing cu initialises the driver and ends the
// process if no driver works: only a process dedicated to the device may link this
// package.
//
// Threads. Every call may come from any goroutine: it first makes its context current
// on the calling thread. Only Stream.Sync, Event.Sync and the Close methods wait for
// the device. Sync leaves the waiting to one thread per context, so that waiting
// goroutines use no threads and can be cancelled.
//
// Memory. Copies are asynchronous: their host memory must be page-locked (Pinned,
// Register) and stay valid until the stream has been synchronised. Memory of the Go
// heap is never passed to the device.
//
// Everything but this file needs cgo and is built with the tag cuda.
package driver
