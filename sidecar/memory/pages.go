package memory

import (
	"math/bits"
	"sync/atomic"
	"time"

	"gpujoin/joincore"
	"gpujoin/shm"

	"golang.org/x/sys/unix"
)

// Extent is a sealed memfd that stays mapped while it exists. Extents are
// reference-counted: the job holds a reference while it reads or writes the
// extent, and each backend that maps it holds one until it sends RELEASE or
// FILLED or its socket reaches end of file.
type Extent struct {
	ID   uint64 // unique during the life of the daemon
	FD   int
	Data []byte

	owner  *Account
	of     *joincore.Account // part of the owner
	window uint32            // result window of the owner that the extent counts towards
	refs   atomic.Int32
}

// Retain adds a reference.
func (e *Extent) Retain() { e.refs.Add(1) }

// Release drops a reference. The store reuses the extent after the last one.
func (e *Extent) Release() {
	n := e.refs.Add(-1)
	if n < 0 {
		panic("memory: extent released too often")
	}
	if n == 0 {
		a, of, window := e.owner, e.of, e.window
		e.owner, e.of = nil, nil
		a.store.putExtent(e)
		of.Give(a.store.ExtentSize())
		a.give(a.store.ExtentSize(), window)
	}
}

func newExtent(id uint64, size int64) (*Extent, error) {
	fd, err := shm.CreateMemfd(size)
	if err != nil {
		return nil, err
	}
	data, err := shm.MapAligned(fd, size)
	if err != nil {
		unix.Close(fd)
		return nil, err
	}
	return &Extent{ID: id, FD: fd, Data: data}, nil
}

func (e *Extent) destroy() {
	_ = shm.Unmap(e.Data) // fails only for a mapping that is not ours
	unix.Close(e.FD)
	e.Data, e.FD = nil, -1
}

// block is kept private memory of one size class.
type block struct {
	data  []byte
	freed time.Time // when it was last given back
}

const pageSize = 4096

// classOf rounds n up to a size class: sixteen steps per power of two, in whole
// pages, and from 32 MiB on in whole huge pages. Rounding wastes at most a
// sixteenth.
func classOf(n int64) int64 {
	if n <= pageSize {
		return pageSize
	}
	step := int64(1) << max(bits.Len64(uint64(n-1))-5, 12)
	return (n + step - 1) / step * step
}
