//go:build cuda

package rowid

import "gpujoin/joincore/cuda/driver"

// Memory allocates device memory that lives longer than a step: what is freed may be
// used by steps that are queued later.
type Memory interface {
	Alloc(bytes int64) (driver.Ptr, error)
	Free(at driver.Ptr, bytes int64)
}

// Owned is memory that is freed together.
type Owned struct {
	Memory Memory
	pieces []piece
}

type piece struct {
	at    driver.Ptr
	bytes int64
}

// Alloc allocates memory.
func (o *Owned) Alloc(bytes int64) (driver.Ptr, error) {
	at, err := o.Memory.Alloc(bytes)
	if err == nil {
		o.pieces = append(o.pieces, piece{at, bytes})
	}
	return at, err
}

// Len returns how often memory was allocated that is not free.
func (o *Owned) Len() int { return len(o.pieces) }

// Bytes returns how much memory there is.
func (o *Owned) Bytes() (bytes int64) {
	for _, p := range o.pieces {
		bytes += p.bytes
	}
	return bytes
}

// Each visits all memory, with the bytes that were asked for.
func (o *Owned) Each(visit func(at driver.Ptr, bytes int64)) {
	for _, p := range o.pieces {
		visit(p.at, p.bytes)
	}
}

// Release frees all memory.
func (o *Owned) Release() { o.ReleaseFrom(0) }

// ReleaseFrom frees what was allocated when Len returned n, and later.
func (o *Owned) ReleaseFrom(n int) {
	for _, p := range o.pieces[n:] {
		o.Memory.Free(p.at, p.bytes)
	}
	o.pieces = o.pieces[:n]
}
