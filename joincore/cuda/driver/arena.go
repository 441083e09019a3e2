//go:build cuda

package driver

import (
	"fmt"

	"gpujoin/joincore"
)

// Line is what allocations are aligned to, in bytes.
const Line = 256

// Arena is device memory of a fixed size that is handed out front to back and
// taken back in the reverse order. It is mapped by the virtual memory API; no
// allocation costs a driver call. One goroutine uses it at a time.
type Arena struct {
	c    *Context
	m    mapping
	size int64 // what may be taken; the mapping is larger by rounding
	used int64
	peak int64
}

// Mark is a state of an arena to return to.
type Mark int64

// NewArena makes an arena of so many bytes, rounded up to whole lines.
// Unwrapped errors: joincore.ErrBudget where the device has less.
func (c *Context) NewArena(bytes int64) (*Arena, error) {
	size := roundUp(max(bytes, Line))
	m, err := reserve(c.ctx, c.info.Ordinal, size)
	if err != nil {
		return nil, c.note(err)
	}
	return &Arena{c: c, m: m, size: size}, nil
}

// Part makes an arena of the next bytes of this one. It needs no Close: what
// it is made of returns with a Rewind of the whole.
func (a *Arena) Part(bytes int64) (*Arena, error) {
	base, err := a.Take(bytes)
	if err != nil {
		return nil, err
	}
	return &Arena{c: a.c, m: mapping{base: base}, size: roundUp(bytes)}, nil
}

// Base returns the address of the first byte.
func (a *Arena) Base() Ptr { return a.m.base }

// Size returns how many bytes can be taken in all.
func (a *Arena) Size() int64 { return a.size }

// Free returns how many bytes can still be taken.
func (a *Arena) Free() int64 { return a.size - a.used }

// Take returns the address of n bytes of unspecified content, aligned to Line.
// What lies between them and the next line belongs to them. ErrBudget where
// the arena is full.
func (a *Arena) Take(n int64) (Ptr, error) {
	rounded := roundUp(n)
	if n < 0 || rounded > a.size-a.used {
		return 0, fmt.Errorf("device memory: %d bytes wanted, %d of %d left: %w", n, a.size-a.used, a.size, joincore.ErrBudget)
	}
	p := a.m.base + Ptr(a.used)
	a.used += rounded
	a.peak = max(a.peak, a.used)
	return p, nil
}

// Mark returns the present state.
func (a *Arena) Mark() Mark { return Mark(a.used) }

// Rewind takes back all that was taken since the mark.
func (a *Arena) Rewind(m Mark) { a.used = int64(m) }

// Peak returns the most bytes that were taken at a time.
func (a *Arena) Peak() int64 { return a.peak }

// Close unmaps the memory, which no stream uses any more.
func (a *Arena) Close() error {
	if a.m.bytes == 0 {
		return nil
	}
	m := a.m
	a.m, a.size, a.used = mapping{}, 0, 0
	return a.c.note(unreserve(a.c.ctx, m))
}

func roundUp(n int64) int64 { return (n + Line - 1) &^ (Line - 1) }
