package cuda

import "slices"

// span is a part of an address range.
type span struct{ at, bytes int64 }

// heap allocates from the end of a range; the other end is a stack, whose size shrinks as
// the heap grows. Sizes are multiples of one unit.
type heap struct {
	// cut takes bytes off the end of the range and returns their address.
	cut func(bytes int64) (int64, error)
	// extend returns the bytes that were cut off last.
	extend func(bytes int64)

	low, end int64  // the heap is [low, end)
	lowest   int64  // minimum of low since the last reset
	free     []span // free parts of the heap, by address, never two adjacent
}

// alloc returns memory by first fit, and whether this heap has allocated it before.
func (h *heap) alloc(bytes int64) (at int64, used bool, err error) {
	for i, f := range h.free {
		if f.bytes < bytes {
			continue
		}
		if f.bytes == bytes {
			h.free = slices.Delete(h.free, i, i+1)
		} else {
			h.free[i] = span{f.at + bytes, f.bytes - bytes}
		}
		return f.at, true, nil
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
	i, _ := slices.BinarySearchFunc(h.free, at, func(f span, at int64) int { return int(f.at - at) })
	h.free = slices.Insert(h.free, i, span{at, bytes})
	if i+1 < len(h.free) && h.free[i].at+h.free[i].bytes == h.free[i+1].at {
		h.free[i].bytes += h.free[i+1].bytes
		h.free = slices.Delete(h.free, i+1, i+2)
	}
	if i > 0 && h.free[i-1].at+h.free[i-1].bytes == h.free[i].at {
		h.free[i-1].bytes += h.free[i].bytes
		h.free = slices.Delete(h.free, i, i+1)
	}
	if f := h.free[0]; f.at == h.low {
		h.free = slices.Delete(h.free, 0, 1)
		h.low += f.bytes
		h.extend(f.bytes)
	}
}

// reset frees everything.
func (h *heap) reset() {
	if h.end > h.low {
		h.extend(h.end - h.low)
	}
	h.low, h.end, h.lowest, h.free = 0, 0, 0, nil
}
