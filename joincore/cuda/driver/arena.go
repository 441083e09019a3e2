//go:build cuda

package driver

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"gpujoin/joincore"
)

// Line is what allocations are aligned to, in bytes.
const Line = 256

// Arena is device memory of a fixed size. It is handed out front to back and
// taken back in the reverse order, as a stack; no allocation costs a driver
// call. Its end can be cut off for what does not live like that. It is safe
// for concurrent use, as far as a stack can be.
type Arena struct {
	c    *Context
	m    mapping // bytes is 0 where the memory belongs to another arena
	base Ptr

	mu   sync.Mutex
	size int64
	used int64
	held int64 // nothing below is cut off
	pins int64 // nothing below is taken back
	peak int64

	more func() bool // see WhenFull
}

// Mark is a state of an arena to return to.
type Mark int64

// NewArena maps bytes of device memory, rounded up to whole cache lines, by
// the virtual memory API: for the device itself and for peers, whose kernels
// then read and write it by the same addresses. errors.Is(err,
// joincore.ErrBudget) where the device has less, joincore.ErrUnsupported where
// a peer does not reach it.
func (c *Context) NewArena(bytes int64, peers ...*Context) (*Arena, error) {
	devices, err := c.withPeers(peers)
	if err != nil {
		return nil, err
	}
	size := roundUp(max(bytes, Line))
	m, err := reserve(c.ctx, devices, size)
	if err != nil {
		return nil, c.note(err)
	}
	return &Arena{c: c, m: m, base: m.base, size: size}, nil
}

// Part makes an arena of the next bytes of this one. It returns to it with a
// Rewind.
func (a *Arena) Part(bytes int64) (*Arena, error) {
	base, err := a.Take(bytes)
	if err != nil {
		return nil, err
	}
	return &Arena{c: a.c, base: base, size: roundUp(bytes)}, nil
}

// Over makes an arena of memory that was cut off this one.
func (a *Arena) Over(at Ptr, bytes int64) *Arena {
	return &Arena{c: a.c, base: at, size: bytes}
}

// Base returns the address of the first byte.
func (a *Arena) Base() Ptr { return a.base }

// Size returns how many bytes there are, without what has been cut off.
func (a *Arena) Size() int64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.size
}

// Free returns how many bytes can still be taken.
func (a *Arena) Free() int64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.size - a.used
}

// Take returns the address of n bytes of unspecified content, aligned to Line.
// What lies between them and the next line belongs to them. ErrBudget where
// the arena is full.
func (a *Arena) Take(n int64) (Ptr, error) {
	for {
		p, err := a.take(n)
		if !errors.Is(err, joincore.ErrBudget) || n < 0 || a.more == nil || !a.more() {
			return p, err
		}
	}
}

// WhenFull has Take call a function where the arena is full, and try again if that returns true:
// it has put back something that was cut off. It is called before the arena is used.
func (a *Arena) WhenFull(more func() bool) { a.more = more }

func (a *Arena) take(n int64) (Ptr, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := a.fits(n, a.used); err != nil {
		return 0, err
	}
	p := a.base + Ptr(a.used)
	a.used += roundUp(n)
	a.peak = max(a.peak, a.used)
	return p, nil
}

// Cut takes n bytes, rounded up to whole lines, off the arena's end.
func (a *Arena) Cut(n int64) (Ptr, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := a.fits(n, max(a.used, a.held)); err != nil {
		return 0, err
	}
	a.size -= roundUp(n)
	return a.base + Ptr(a.size), nil
}

// Extend puts back n bytes that have been cut off, the last ones first.
func (a *Arena) Extend(n int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.size += roundUp(n)
}

// Hold keeps what is taken now from being cut off until release, whatever is
// rewound in between: for memory that is taken twice, when what uses it first
// has not been queued yet.
func (a *Arena) Hold() (release func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	before := a.held
	a.held = max(a.held, a.used)
	return func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.held = before
	}
}

// fits checks that n bytes starting at offset from are within the arena.
func (a *Arena) fits(n, from int64) error {
	if n < 0 || n > a.size || roundUp(n) > a.size-from { // roundUp of the largest numbers overflows
		return fmt.Errorf("device memory: %d bytes requested, %d of %d free: %w", n, a.size-from, a.size, joincore.ErrBudget)
	}
	return nil
}

// Mark returns the present state.
func (a *Arena) Mark() Mark {
	a.mu.Lock()
	defer a.mu.Unlock()
	return Mark(a.used)
}

// Rewind takes back all that was taken since the mark, but what is pinned.
func (a *Arena) Rewind(m Mark) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.used = max(int64(m), a.pins)
}

// Pin keeps what is taken now, whatever is rewound, until release: for memory that other
// devices read.
func (a *Arena) Pin() (release func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	before := a.pins
	a.pins = max(a.pins, a.used)
	return func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.pins = before
	}
}

// Peak returns the most bytes that were taken at a time.
func (a *Arena) Peak() int64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.peak
}

// ResetPeak makes what is taken now the peak.
func (a *Arena) ResetPeak() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.peak = a.used
}

// Close unmaps the memory, which no stream uses any more. A nil arena has none.
func (a *Arena) Close() error {
	if a == nil || a.m.bytes == 0 {
		return nil
	}
	m := a.m
	a.m, a.size, a.used = mapping{}, 0, 0
	return a.c.note(unreserve(a.c.ctx, m))
}

// Lines rounds bytes up to whole lines, at least one: what an allocation of them takes.
func Lines(bytes int64) int64 { return roundUp(max(bytes, 1)) }

func roundUp(n int64) int64 { return (n + Line - 1) &^ (Line - 1) }

// Reaches reports whether kernels of this device can access memory of another one, or
// its own.
func (c *Context) Reaches(other *Context) (bool, error) {
	return Reaches(c.info.Ordinal, other.info.Ordinal)
}

// withPeers returns the numbers of the device and of the peers that share its memory,
// or ErrUnsupported if one cannot access it.
func (c *Context) withPeers(peers []*Context) ([]int, error) {
	devices := []int{c.info.Ordinal}
	for _, p := range peers {
		if slices.Contains(devices, p.info.Ordinal) {
			continue
		}
		ok, err := p.Reaches(c)
		if err != nil {
			return nil, err
		}
		if !ok {
			return nil, fmt.Errorf("device %d does not reach memory of device %d: %w", p.info.Ordinal, c.info.Ordinal, joincore.ErrUnsupported)
		}
		devices = append(devices, p.info.Ordinal)
	}
	return devices, nil
}

// Revoke takes a peer's access to the memory of an arena that NewArena made. Work of the peer
// that accesses it afterwards fails, and the peer's context is lost. It is for tests of what
// follows when devices lose access to each other.
func (a *Arena) Revoke(peer *Context) error {
	return a.c.note(revoke(a.c.ctx, a.m, peer.info.Ordinal))
}
