// Package kernels embeds the device code: CUDA C++, compiled by nvcc to fatbins
// with machine code for each supported compute capability, and PTX for newer
// devices. Kernels that package rowid changes are embedded as PTX.
//
// The directories are layers; includes go downwards: entry (kernels and compile
// units, which choose the tuning), agent (the work of one kernel), block (what
// agents share), layout (memory that device and host share). tuning has numbers by
// compute capability, which change speed, never results.
//
// A kernel is found by its name, and each of its parameters is 8 bytes wide. With a
// kernel NAME comes NAME_launch, five 64-bit numbers in constant memory: threads
// per block, blocks per multiprocessor, bytes of dynamic shared memory, rows (of a
// tile or a chunk) and the largest fan-out.
package kernels
