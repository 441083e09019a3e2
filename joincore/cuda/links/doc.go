// Package links finds out what connects the devices of a machine, and how fast it copies.
//
// # Between host and device
//
// A method is a way to move memory across the link (Lutz et al., "Pump Up the Volume",
// SIGMOD 2020, section 4). A Platform says which methods a machine supports and which the
// provider uses there; MeasureMethods says how fast each is. In push methods copy engines
// move pageable memory, memory that threads stage in page-locked buffers, memory that is
// page-locked temporarily, or memory that was page-locked before. In pull methods kernels
// access page-locked memory, pageable memory, or managed memory whose pages migrate.
//
// # Between devices
//
// Discover asks the management library (NVML) for NVLinks, the driver for peer access, and
// the system for the NUMA nodes and PCIe paths of the devices; then it measures copies
// between idle devices. A fact that it cannot find out is noted with its reason, and
// everything else still works. The facts are kept in a file that is valid for the same
// devices and driver. Facts.Mesh makes a mesh.Mesh of them.
//
// Everything that needs a device has the build tag cuda.
package links
