package cuda

import (
	"cmp"
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

// behind returns memory behind an address, of the last free part that is large enough.
func (h *heap) behind(address, bytes int64) (at int64, ok bool) {
	for i := len(h.free) - 1; i >= 0 && h.free[i].At > address; i-- {
		g := &h.free[i]
		if g.Bytes < bytes {
			continue
		}
		g.Bytes -= bytes
		at = g.At + g.Bytes
		if g.Bytes == 0 {
			h.free = slices.Delete(h.free, i, i+1)
		}
		return at, true
	}
	return 0, false
}

// reset frees everything but the given parts.
func (h *heap) reset(stay []span) {
	stay = slices.SortedFunc(slices.Values(stay), func(a, b span) int { return cmp.Compare(a.at, b.at) })
	low := h.end
	if len(stay) > 0 {
		low = stay[0].at
	}
	if low > h.low {
		h.extend(low - h.low)
	}
	h.free = nil
	for i, s := range stay {
		next := h.end
		if i+1 < len(stay) {
			next = stay[i+1].at
		}
		if end := s.at + s.bytes; end < next {
			h.free = append(h.free, driver.Gap{At: end, Bytes: next - end})
		}
	}
	h.low, h.lowest = low, low
	if len(stay) == 0 {
		h.low, h.end, h.lowest = 0, 0, 0
	}
}
