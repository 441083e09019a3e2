//go:build cuda

package driver

import (
	"fmt"
	"sync"

	"gorgonia.org/cu"
)

// Kernel is a function of a module with its launch parameters.
type Kernel struct {
	Name    string
	Threads int // per block
	Blocks  int // per multiprocessor
	Shared  int // bytes of dynamic shared memory
	Rows    int // of a tile or a chunk; the kernel defines which
	Fan     int // the most partitions; the kernel defines what else

	c        *Context
	function cu.Function

	mu      sync.Mutex
	allowed int // bytes of dynamic shared memory that a launch may request
}

// defaultShared is the shared memory that a kernel may use without a request.
const defaultShared = 48 << 10

// Launch queues the kernel on the stream with its own number of threads and shared
// memory. Each argument is one 8-byte parameter; or the kernel has one parameter, a
// structure of as many 8-byte fields. A grid of 0 blocks launches nothing.
func (k *Kernel) Launch(s *Stream, grid int, args ...uint64) error {
	return k.LaunchShared(s, grid, k.Shared, args...)
}

// LaunchShared is Launch with the given bytes of dynamic shared memory.
func (k *Kernel) LaunchShared(s *Stream, grid, shared int, args ...uint64) error {
	return k.LaunchThreads(s, grid, k.Threads, shared, args...)
}

// LaunchThreads is LaunchShared with the given threads per block, at most Threads.
func (k *Kernel) LaunchThreads(s *Stream, grid, threads, shared int, args ...uint64) error {
	if grid == 0 {
		return nil
	}
	if len(args) > maxParameters {
		return fmt.Errorf("kernel %s: %w", k.Name, &Error{Call: "cuLaunchKernel", Code: codeInvalidValue})
	}
	if err := k.allow(shared); err != nil {
		return err
	}
	if err := k.c.note(launch(k.c.ctx, k.function, grid, threads, shared, s.stream, args)); err != nil {
		return fmt.Errorf("kernel %s: %w", k.Name, err)
	}
	return nil
}

// Grid returns the number of blocks that fill the device, at most `items`.
func (k *Kernel) Grid(items int64) int {
	return int(min(items, int64(max(k.Blocks, 1)*k.c.info.SMs)))
}

// allow raises the dynamic shared memory that the kernel may request.
func (k *Kernel) allow(shared int) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if shared <= max(k.allowed, defaultShared/2) {
		return nil
	}
	if err := k.c.note(allowShared(k.c.ctx, k.function, shared)); err != nil {
		return fmt.Errorf("kernel %s, %d bytes of shared memory: %w", k.Name, shared, err)
	}
	k.allowed = shared
	return nil
}
