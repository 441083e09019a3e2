// Package topology finds out how the GPUs of a machine are connected and how fast they
// exchange data. It asks the management library (NVML) for NVLinks, the driver for peer
// access, and the system for the NUMA nodes and PCIe paths of the devices; then it
// measures copies between idle devices. What cannot be found out is noted with its
// reason, and everything else still works.
//
// The facts are kept in a file that is valid for the same devices and driver, and from
// them a mesh.Mesh is made.
package topology
