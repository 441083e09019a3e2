//go:build cuda

package driver

import (
	"fmt"
	"sync"

	"gorgonia.org/cu"
)

// Kernel is a function of a module and how it wants to be launched.
type Kernel struct {
	Name    string
	Threads int // a block
	Blocks  int // a multiprocessor
	Shared  int // bytes of dynamic shared memory
	Rows    int // the kernel's own: rows of a tile or a chunk
	Fan     int // likewise: the most partitions

	c        *Context
	function cu.Function

	mu      sync.Mutex
	allowed int // bytes of dynamic shared memory that may be asked for
}

// defaultShared is what every kernel may have without being allowed more.
const defaultShared = 48 << 10

// Launch starts the kernel with its own number of threads and shared memory.
// Each argument is one parameter of 8 bytes. A grid of 0 blocks launches
// nothing.
func (k *Kernel) Launch(s *Stream, grid int, args ...uint64) error {
	return k.LaunchShared(s, grid, k.Shared, args...)
}

// LaunchShared does the same with shared bytes of dynamic shared memory.
func (k *Kernel) LaunchShared(s *Stream, grid, shared int, args ...uint64) error {
	if grid == 0 {
		return nil
	}
	if len(args) > maxParameters {
		return fmt.Errorf("kernel %s: %w", k.Name, &Error{Call: "cuLaunchKernel", Code: codeInvalidValue})
	}
	if err := k.allow(shared); err != nil {
		return err
	}
	if err := k.c.note(launch(k.c.ctx, k.function, grid, k.Threads, shared, s.stream, args)); err != nil {
		return fmt.Errorf("kernel %s: %w", k.Name, err)
	}
	return nil
}

// Grid returns the blocks that fill the device, at most one for each of items.
func (k *Kernel) Grid(items int64) int {
	return int(min(items, int64(max(k.Blocks, 1)*k.c.info.SMs)))
}

// allow lets the kernel have so much dynamic shared memory.
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
