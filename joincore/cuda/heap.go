package cuda

import (
	"slices"

	"gpujoin/joincore/cuda/driver"
)

// span is a part of an address range.
type span struct{ at, bytes int64 }

// heap allocates from the end of a range; the other end is a stack, whose size shrinks as
// the heap grows. Sizes are multiples of one unit.
type heap struct {
	// cut takes bytes off the end of the range and returns their address.
	cut func(bytes int64) (int64, error)
	// extend returns the bytes that were cut off last.
	extend func(bytes int64)

	low, end int64           // the heap is [low, end)
	lowest   int64           // minimum of low since the last reset
	free     driver.FreeList // of the heap
}

// alloc returns memory by first fit, and whether this heap has allocated it before.
func (h *heap) alloc(bytes int64) (at int64, used bool, err error) {
	if at, used = h.free.Take(bytes); used {
		return at, true, nil
	}
	at, err = h.cut(bytes)
	if err != nil {
		return 0, false, err
	}
	if h.end == 0 {
		h.end = at + bytes
		h.lowest = h.end
	}
	used = at+bytes > h.lowest
	h.low = at
	h.lowest = min(h.lowest, at)
	return at, used, nil
}

// release frees memory.
func (h *heap) release(at, bytes int64) {
	h.free.Give(at, bytes)
	if g := h.free[0]; g.At == h.low {
		h.free = slices.Delete(h.free, 0, 1)
		h.low += g.Bytes
		h.extend(g.Bytes)
	}
}

// reset frees everything.
func (h *heap) reset() {
	if h.end > h.low {
		h.extend(h.end - h.low)
	}
	h.low, h.end, h.lowest, h.free = 0, 0, 0, nil
}
