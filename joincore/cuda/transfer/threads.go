//go:build cuda

package transfer

import (
	"errors"
	"unsafe"

	"gpujoin/joincore/cuda/driver"
	"gpujoin/joincore/cuda/kernels"
)

// Threads moves memory by threads of a device. It is safe for concurrent use.
type Threads struct {
	module    *driver.Module
	move, sum *driver.Kernel
}

// LoadThreads loads the kernels.
func LoadThreads(c *driver.Context) (*Threads, error) {
	m, err := c.Load(kernels.Transfer)
	if err != nil {
		return nil, err
	}
	t := &Threads{module: m}
	for _, k := range []struct {
		name string
		to   **driver.Kernel
	}{{"transfer_move", &t.move}, {"transfer_sum", &t.sum}} {
		if *k.to, err = m.Kernel(k.name); err != nil {
			return nil, errors.Join(err, m.Unload())
		}
	}
	return t, nil
}

// Close unloads the kernels, which no stream uses any more.
func (t *Threads) Close() error { return t.module.Unload() }

// blockBytes is what a block of transfer_move has under way at a time.
const blockBytes = 16 << 10

// Move queues a copy of n bytes. Each address is of device memory, or of host
// memory as the device sees it; they may be aligned in any way, but 16 bytes a
// time move only where they are aligned alike.
func (t *Threads) Move(s *driver.Stream, to, from driver.Ptr, n int64) error {
	return t.move.Launch(s, t.move.Grid((n+blockBytes-1)/blockBytes), uint64(to), uint64(from), uint64(n))
}

// Address is where the host sees memory, and a device that walks the host's
// page tables. What it is used for ends before the memory does.
func Address(b []byte) driver.Ptr { return driver.Ptr(uintptr(unsafe.Pointer(unsafe.SliceData(b)))) }

// Sum queues the addition of a sum of n bytes, whole words of 8, to the word at
// total.
func (t *Threads) Sum(s *driver.Stream, at driver.Ptr, n int64, total driver.Ptr) error {
	return t.sum.Launch(s, t.sum.Grid((n+blockBytes-1)/blockBytes), uint64(at), uint64(n/8), uint64(total))
}
