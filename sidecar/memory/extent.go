package memory

import (
	"sync/atomic"

	"gpujoin/shm"

	"golang.org/x/sys/unix"
)

// Extent is a sealed memfd that is mapped for its life. Every holder counts:
// the job for what it reads or writes, and each backend that maps it, until
// it says RELEASE or FILLED, or its socket reaches end of file.
type Extent struct {
	ID   uint64 // unique in the life of the daemon
	FD   int
	Data []byte

	mapping []byte

	owner  *Account
	window uint32 // of the owner's results
	refs   atomic.Int32
}

// Retain adds a holder.
func (e *Extent) Retain() { e.refs.Add(1) }

// Release takes one holder away; after the last one the extent is reused.
func (e *Extent) Release() {
	n := e.refs.Add(-1)
	if n < 0 {
		panic("memory: extent released too often")
	}
	if n == 0 {
		a, window := e.owner, e.window
		e.owner = nil
		a.store.putExtent(e)
		a.give(a.store.ExtentSize(), window)
	}
}

func newExtent(id uint64, size int64) (*Extent, error) {
	fd, err := shm.CreateMemfd(size)
	if err != nil {
		return nil, err
	}
	data, mapping, err := shm.MapAligned(fd, size)
	if err != nil {
		unix.Close(fd)
		return nil, err
	}
	return &Extent{ID: id, FD: fd, Data: data, mapping: mapping}, nil
}

func (e *Extent) destroy() {
	_ = shm.Unmap(e.mapping) // fails only for a mapping that is not ours
	unix.Close(e.FD)
	e.Data, e.mapping, e.FD = nil, nil, -1
}
