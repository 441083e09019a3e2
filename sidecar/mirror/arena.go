package mirror

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"gpujoin/sidecar/kept"
)

// account counts all memory of a server's mirrors: extents, and what lies beside them in Go's
// memory.
type account struct {
	limit   int64        // 0: none
	held    func() int64 // of all servers that share the limit; nil: bytes
	extents atomic.Int64
	besides atomic.Int64
}

func (a *account) bytes() int64 { return a.extents.Load() + a.besides.Load() }

// room returns an error if there is no room for more bytes.
func (a *account) room(n int64) error {
	held := a.bytes()
	if a.held != nil {
		held = a.held()
	}
	if a.limit > 0 && held+n > a.limit {
		return fmt.Errorf("%w: %d bytes are held, %d allowed, %d more needed", ErrMemory, held, a.limit, n)
	}
	return nil
}

// arena allocates spans in extents of fixed size, in the fullest extent with a hole that is large
// enough, so that others become empty. Adjacent holes become one, and an extent without spans goes
// back.
type arena struct {
	*account
	memory kept.Memory
	size   int                  // of an extent
	gone   func(content uint64) // nil: nobody is told
	// reclaim frees what can be made again, and reports whether it has. It takes Server.mu. nil: there
	// is nothing.
	reclaim func() bool

	mu    sync.Mutex
	all   []*extent
	spans int64 // bytes of all spans
}

// extent is an extent and what is free of it.
type extent struct {
	kept.Extent
	holes   []hole // by position; no two touch
	free    int    // bytes of all holes
	largest int    // of the largest hole
}

type hole struct{ from, to int }

func (h hole) size() int { return h.to - h.from }

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
// ErrTooLong if no extent has so many bytes. What readers can have made again gives way.
func (a *arena) alloc(n int) (span, error) {
	s, err := a.allocate(n, 0)
	if errors.Is(err, ErrMemory) && a.reclaim != nil && a.reclaim() {
		return a.allocate(n, 0)
	}
	return s, err
}

// allocSpare is for what mirrors can do without: it leaves an eighth of the limit to them.
func (a *arena) allocSpare(n int) (span, error) { return a.allocate(n, a.limit/8) }

func (a *arena) allocate(n int, leave int64) (span, error) {
	n = max(alignUp(n, spanAlign), spanAlign)
	if n > a.size {
		return span{}, fmt.Errorf("%w: %d bytes, an extent has %d", ErrTooLong, n, a.size)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	var best *extent
	for _, e := range a.all {
		if e.largest >= n && (best == nil || e.free < best.free) {
			best = e
		}
	}
	if best != nil {
		a.spans += int64(n)
		return best.take(n), nil
	}
	if err := a.room(int64(a.size) + leave); err != nil {
		return span{}, err
	}
	got, err := a.memory.Extent()
	if err != nil {
		return span{}, fmt.Errorf("%w: %w", ErrMemory, err)
	}
	a.extents.Add(int64(a.size))
	e := &extent{Extent: got, holes: []hole{{0, a.size}}, free: a.size, largest: a.size}
	a.all = append(a.all, e)
	a.spans += int64(n)
	return e.take(n), nil
}

// take allocates n bytes in the smallest hole that has them; one has.
func (e *extent) take(n int) span {
	best := -1
	for i, h := range e.holes {
		if size := h.size(); size >= n && (best < 0 || size < e.holes[best].size()) {
			best = i
		}
	}
	h := &e.holes[best]
	s := span{e, h.from, e.Data[h.from : h.from+n : h.from+n]}
	if h.from += n; h.from == h.to {
		e.holes = slices.Delete(e.holes, best, best+1)
	}
	e.free -= n
	e.largest = 0
	for _, h := range e.holes {
		e.largest = max(e.largest, h.size())
	}
	return s
}

// free makes spans holes again.
func (a *arena) free(spans []span) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, s := range spans {
		a.spans -= int64(len(s.data))
		s.extent.put(hole{s.from, s.from + len(s.data)})
		if s.extent.free == a.size {
			a.drop(s.extent)
		}
	}
}

// put adds a hole.
func (e *extent) put(h hole) {
	e.free += h.size()
	i := len(e.holes)
	for i > 0 && e.holes[i-1].from > h.from {
		i--
	}
	before := i > 0 && e.holes[i-1].to == h.from
	after := i < len(e.holes) && e.holes[i].from == h.to
	switch {
	case before && after:
		e.holes[i-1].to = e.holes[i].to
		e.holes = slices.Delete(e.holes, i, i+1)
		i--
	case before:
		i--
		e.holes[i].to = h.to
	case after:
		e.holes[i].from = h.from
	default:
		e.holes = slices.Insert(e.holes, i, h)
	}
	e.largest = max(e.largest, e.holes[i].size())
}

func (a *arena) drop(e *extent) {
	i := slices.Index(a.all, e)
	a.all = slices.Delete(a.all, i, i+1)
	a.extents.Add(-int64(a.size))
	e.Release()
}
