package kept

import (
	"errors"
	"fmt"

	"gpujoin/joincore"
)

// arena allocates spans in extents, one behind the other. An extent goes back when all its
// spans are dead, so an arena is as fragmented as its extents are; whoever frees, frees all of
// an extent. All of it is guarded by the store's lock.
type arena struct {
	memory  Memory
	extents map[*extent]struct{}
	open    *extent // spans are allocated here; nil: in the next one
	size    int64   // of an extent
	spans   int64   // bytes of all live spans
	grown   int     // extents so far
}

func newArena(m Memory) arena {
	return arena{memory: m, size: m.ExtentSize(), extents: map[*extent]struct{}{}}
}

// extent is an extent with its spans.
type extent struct {
	Extent
	number int                 // in the order in which the arena got them
	used   int                 // bytes that have been allocated
	live   int64               // bytes of spans that are not dead
	spans  int                 // spans that are not dead
	pins   int                 // what keeps the extent whatever is evicted: leases, copies
	pieces map[*piece]struct{} // of the directory
	saves  map[*column]float64 // the benefit of one use of each column, of these pieces
}

// span is a part of an extent.
type span struct {
	extent *extent
	data   []byte
}

const spanAlign = 64

func alignUp(n, to int64) int64 { return (n + to - 1) / to * to }

// errNoMemory means that an extent would be needed.
var errNoMemory = errors.New("no memory is kept for columns")

// alloc returns a span of n bytes of unspecified content. errNoMemory: the
// open extent has no room for it; another error: no extent has.
func (a *arena) alloc(n int64) (span, error) {
	n = max(alignUp(n, spanAlign), spanAlign)
	if n > a.size {
		return span{}, fmt.Errorf("%w: %d bytes for the values of one column in %d blocks", joincore.ErrUnsupported, n, ChunkBlocks)
	}
	e := a.open
	if e == nil || int64(len(e.Data)-e.used) < n {
		return span{}, errNoMemory
	}
	from := e.used
	e.used += int(n)
	e.live += n
	e.spans++
	a.spans += n
	return span{e, e.Data[from:e.used:e.used]}, nil
}

// grow takes another extent, in which spans are allocated from now on.
func (a *arena) grow() error {
	e, err := a.memory.Extent()
	if err != nil {
		return err
	}
	a.grown++
	next := &extent{Extent: e, number: a.grown, pieces: map[*piece]struct{}{}, saves: map[*column]float64{}}
	a.extents[next] = struct{}{}
	a.leave()
	a.open = next
	return nil
}

// leave closes the open extent. If no span in it is alive, it goes back.
func (a *arena) leave() {
	e := a.open
	a.open = nil
	if e != nil && e.spans == 0 {
		a.drop(e)
	}
}

// idle gives the open extent back if no span in it is alive.
func (a *arena) idle() {
	if a.open != nil && a.open.spans == 0 {
		a.leave()
	}
}

// free makes a span dead.
func (a *arena) free(s span) {
	e := s.extent
	e.live -= int64(len(s.data))
	a.spans -= int64(len(s.data))
	e.spans--
	switch {
	case e.spans > 0:
	case e == a.open:
		e.used = 0
	default:
		a.drop(e)
	}
}

func (a *arena) drop(e *extent) {
	delete(a.extents, e)
	e.Release()
}

// bytes returns the bytes of all extents.
func (a *arena) bytes() int64 { return int64(len(a.extents)) * a.size }
