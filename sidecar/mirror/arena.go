package mirror

import (
	"fmt"
	"sync"
	"sync/atomic"

	"gpujoin/sidecar/kept"
)

// account counts all memory of a server's mirrors: extents, and what lies beside them in Go's
// memory.
type account struct {
	limit   int64 // 0: none
	extents atomic.Int64
	besides atomic.Int64
}

func (a *account) bytes() int64 { return a.extents.Load() + a.besides.Load() }

// room returns an error if there is no room for more bytes.
func (a *account) room(n int64) error {
	if held := a.bytes(); a.limit > 0 && held+n > a.limit {
		return fmt.Errorf("%w: %d bytes are held, %d allowed, %d more needed", ErrMemory, held, a.limit, n)
	}
	return nil
}

// arena allocates spans in extents of fixed size: the first hole that is large enough. Adjacent
// holes become one, and an extent without spans goes back.
type arena struct {
	*account
	memory kept.Memory
	size   int // of an extent

	mu    sync.Mutex
	all   []*extent
	spans int64 // bytes of all spans
}

// extent is an extent and what is free of it.
type extent struct {
	kept.Extent
	holes   []hole // by position; no two touch
	largest int    // bytes; no hole is larger
}

type hole struct{ from, to int }

// span is a part of an extent.
type span struct {
	extent *extent
	from   int
	data   []byte
}

func newArena(m kept.Memory, a *account) *arena {
	return &arena{account: a, memory: m, size: int(m.ExtentSize())}
}

// spanAlign is the alignment of spans, of which there are none without a byte.
const spanAlign = 64

func alignUp(n, to int) int { return (n + to - 1) / to * to }

// alloc returns a span of n bytes of unspecified content. The error wraps ErrMemory, or
// ErrTooLong if no extent has so many bytes.
func (a *arena) alloc(n int) (span, error) {
	n = max(alignUp(n, spanAlign), spanAlign)
	if n > a.size {
		return span{}, fmt.Errorf("%w: %d bytes, an extent has %d", ErrTooLong, n, a.size)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, e := range a.all {
		if s, ok := e.take(n); ok {
			a.spans += int64(n)
			return s, nil
		}
	}
	if err := a.room(int64(a.size)); err != nil {
		return span{}, err
	}
	got, err := a.memory.Extent()
	if err != nil {
		return span{}, fmt.Errorf("%w: %w", ErrMemory, err)
	}
	a.extents.Add(int64(a.size))
	e := &extent{Extent: got, holes: []hole{{0, a.size}}, largest: a.size}
	a.all = append(a.all, e)
	s, _ := e.take(n)
	a.spans += int64(n)
	return s, nil
}

// take allocates n bytes in the extent.
func (e *extent) take(n int) (span, bool) {
	if e.largest < n {
		return span{}, false
	}
	largest := 0
	for i := range e.holes {
		h := &e.holes[i]
		if h.to-h.from < n {
			largest = max(largest, h.to-h.from)
			continue
		}
		s := span{e, h.from, e.Data[h.from : h.from+n : h.from+n]}
		if h.from += n; h.from == h.to {
			e.holes = append(e.holes[:i], e.holes[i+1:]...)
		}
		return s, true
	}
	e.largest = largest
	return span{}, false
}

// free makes spans holes again.
func (a *arena) free(spans []span) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, s := range spans {
		a.spans -= int64(len(s.data))
		s.extent.put(hole{s.from, s.from + len(s.data)})
		if h := s.extent.holes; len(h) == 1 && h[0].to-h[0].from == a.size {
			a.drop(s.extent)
		}
	}
}

// put adds a hole.
func (e *extent) put(h hole) {
	i := len(e.holes)
	for i > 0 && e.holes[i-1].from > h.from {
		i--
	}
	before := i > 0 && e.holes[i-1].to == h.from
	after := i < len(e.holes) && e.holes[i].from == h.to
	switch {
	case before && after:
		e.holes[i-1].to = e.holes[i].to
		e.holes = append(e.holes[:i], e.holes[i+1:]...)
		i--
	case before:
		i--
		e.holes[i].to = h.to
	case after:
		e.holes[i].from = h.from
	default:
		e.holes = append(e.holes, hole{})
		copy(e.holes[i+1:], e.holes[i:])
		e.holes[i] = h
	}
	e.largest = max(e.largest, e.holes[i].to-e.holes[i].from)
}

func (a *arena) drop(e *extent) {
	for i := range a.all {
		if a.all[i] == e {
			a.all = append(a.all[:i], a.all[i+1:]...)
			break
		}
	}
	a.extents.Add(-int64(a.size))
	e.Release()
}
