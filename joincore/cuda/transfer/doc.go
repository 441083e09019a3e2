// Package transfer implements the methods by which memory crosses the link between host
// and device (Lutz et al., "Pump Up the Volume", SIGMOD 2020, section 4): which a
// platform supports, which the provider uses there, and how fast each is.
//
// In push methods copy engines move pageable memory, memory that threads stage in
// page-locked buffers, memory that is page-locked temporarily, or memory that was
// page-locked before. In pull methods kernels access page-locked memory, pageable
// memory, or managed memory whose pages migrate.
//
// Everything that needs a device has the build tag cuda.
package transfer
