// Package kernels holds the device code: CUDA C++, compiled by nvcc and
// embedded as fatbins, which hold machine code for each supported compute
// capability, and PTX for newer devices.
//
// A kernel is found by its name. Each of its parameters is 8 bytes wide, and
// beside a kernel NAME stands NAME_launch, five 64-bit numbers in constant
// memory: threads a block, blocks a multiprocessor, bytes of dynamic shared
// memory, rows (of a tile or a chunk) and the largest fan-out.
package kernels
