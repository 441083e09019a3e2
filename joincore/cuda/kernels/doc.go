// Package kernels holds the device code: CUDA C++, compiled by nvcc and embedded
// as fatbins. A fatbin has machine code for each supported compute capability,
// and PTX for newer devices.
//
// The directories are layers, and includes go downwards: entry (kernels and
// compile units, which choose tuning), agent (the work of one kernel), block
// (what agents share), layout (memory that device and host share). tuning has
// numbers by compute capability; they change speed, never results.
//
// A kernel is found by its name. Each of its parameters is 8 bytes wide. A kernel
// NAME comes with NAME_launch, five 64-bit numbers in constant memory: threads of
// a block, blocks of a multiprocessor, bytes of dynamic shared memory, rows (of a
// tile or a chunk) and the largest fan-out.
package kernels
