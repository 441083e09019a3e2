//go:build cuda

package links

import (
	"errors"
	"unsafe"

	"gpujoin/joincore/cuda/driver"
	"gpujoin/joincore/cuda/kernels"
)

// Threads copies memory by threads of a device. It is safe for concurrent use.
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
	move, err := m.Kernel("transfer_move")
	sum, also := m.Kernel("transfer_sum")
	if err = errors.Join(err, also); err != nil {
		return nil, errors.Join(err, m.Unload())
	}
	return &Threads{m, move, sum}, nil
}

// Close unloads the kernels, if t is not nil. No stream may use them any more.
func (t *Threads) Close() error {
	if t == nil {
		return nil
	}
	return t.module.Unload()
}

// blockBytes is the number of bytes that a block of transfer_move has in flight.
const blockBytes = 16 << 10

// Move queues a copy of n bytes. Each address is of device memory, or the device's address of
// host memory. Alignment is arbitrary; 16-byte accesses need addresses of equal alignment.
func (t *Threads) Move(s *driver.Stream, to, from driver.Ptr, n int64) error {
	return t.move.Launch(s, t.move.Grid((n+blockBytes-1)/blockBytes), uint64(to), uint64(from), uint64(n))
}

// Address returns the host's address of memory, valid for devices that walk the host's
// page tables. The caller keeps b alive while the address is used.
func Address(b []byte) driver.Ptr { return driver.Ptr(uintptr(unsafe.Pointer(unsafe.SliceData(b)))) }

// Sum queues the addition of the sum of n bytes, a multiple of 8, to the word at total.
func (t *Threads) Sum(s *driver.Stream, at driver.Ptr, n int64, total driver.Ptr) error {
	return t.sum.Launch(s, t.sum.Grid((n+blockBytes-1)/blockBytes), uint64(at), uint64(n/8), uint64(total))
}
