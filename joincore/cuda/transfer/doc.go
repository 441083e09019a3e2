// Package transfer knows the methods by which memory crosses the link between
// host and device (Lutz et al., "Pump Up the Volume", SIGMOD 2020, section 4):
// which of them a platform has, which the provider uses there, and how fast
// each is.
//
// Where the host pushes, copy engines move pageable memory, memory that threads
// stage in page-locked buffers, memory that is page-locked for the moment, or
// memory that was page-locked once. Where the device pulls, kernels read
// page-locked memory, pageable memory, or memory whose pages move with those
// who touch them.
//
// What needs a device has the tag cuda.
package transfer
