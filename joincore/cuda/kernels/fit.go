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

import (
	"errors"
	"fmt"
)

// ErrUnfit: the kernels do not run on a device.
var ErrUnfit = errors.New("the kernels do not support this device")

// SharedMemory returns the most bytes of shared memory that a block of the kernels
// for compute capability major.x uses: what data-centre GPUs allow, for which
// kernels/tuning/join.cuh is written. Other GPUs of the same capability allow less.
func SharedMemory(major int) int {
	if major < 9 {
		return 163 << 10
	}
	return 227 << 10
}

// HistogramStatic is the most bytes of static shared memory that a block of a
// histogram has, in addition to its dynamic shared memory.
const HistogramStatic = 1 << 10

// Fit returns nil if the kernels run on devices of compute capability major.minor
// that allow a block `shared` bytes of shared memory, else ErrUnfit with the reason.
func Fit(major, minor, shared int) error {
	if major < 8 {
		return fmt.Errorf("compute capability %d.%d is below 8.0: %w", major, minor, ErrUnfit)
	}
	if want := SharedMemory(major); shared < want {
		return fmt.Errorf("compute capability %d.%d has %d KiB of shared memory per block, %d are needed: %w", major, minor, shared>>10, want>>10, ErrUnfit)
	}
	return nil
}

// MaxRows is the exclusive limit on the rows of a side of a join, of a space and of an
// input: row ids have 32 bits, and the padding of partitions needs some of them.
const MaxRows = 1<<32 - 1<<20
