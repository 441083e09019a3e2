package kernels

import (
	"errors"
	"fmt"
)

// ErrUnfit: a device on which the kernels do not run.
var ErrUnfit = errors.New("kernels do not run there")

// SharedMemory returns how many bytes of shared memory a block of the kernels
// for a compute capability has at most: what GPUs of data centres allow, for
// which kernels/tuning/join.cuh is written. Others of the same capability allow less.
func SharedMemory(major int) int {
	if major < 9 {
		return 163 << 10
	}
	return 227 << 10
}

// HistogramStatic is how many bytes of shared memory a block of a histogram has at
// most, beside what it is launched with.
const HistogramStatic = 1 << 10

// Fit returns nil where the kernels run on devices of a compute capability that
// allow a block so many bytes of shared memory, else ErrUnfit with the reason.
func Fit(major, minor, shared int) error {
	if major < 8 {
		return fmt.Errorf("compute capability %d.%d, 8.0 is wanted at least: %w", major, minor, ErrUnfit)
	}
	if want := SharedMemory(major); shared < want {
		return fmt.Errorf("compute capability %d.%d with %d KiB of shared memory a block, %d are wanted: %w", major, minor, shared>>10, want>>10, ErrUnfit)
	}
	return nil
}
