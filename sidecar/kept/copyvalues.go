package kept

import (
	"encoding/binary"
	"fmt"

	"gpujoin/joincore"
	"gpujoin/sidecar/bitmap"
)

// run is rows that are consecutive in one vector.
type run struct {
	from        *joincore.Vector
	trusted     bool // no peer can write to the vector, and its offsets are in order
	first, rows int
	heap, end   uint32 // Varlena: the bytes of their values in the heap, as they were read once
}

// readRun returns rows of a vector that must have them.
func readRun(c joincore.Column, v *joincore.Vector, first, rows int, trusted bool) run {
	r := run{from: v, trusted: trusted, first: first, rows: rows}
	if c.Kind == joincore.Varlena {
		r.heap, r.end = offset(v, first), offset(v, first+rows)
		r.heap, r.end = clampRange(r.heap, r.end, len(v.Heap))
	}
	return r
}

// offset reads an offset of a vector of values of variable length.
func offset(v *joincore.Vector, i int) uint32 { return binary.LittleEndian.Uint32(v.Values[4*i:]) }

// clampRange returns a range that exists in a heap.
func clampRange(from, to uint32, heap int) (uint32, uint32) {
	end := uint32(min(uint64(to), uint64(heap)))
	return min(from, end), end
}

// join adds rows to the end of a run, if they follow it.
func (r *run) join(o run) bool {
	if r.from != o.from || r.first+r.rows != o.first || r.end != o.heap {
		return false
	}
	r.rows += o.rows
	r.end = o.end
	return true
}

// hasNulls reports whether a value of the run is NULL.
func (r *run) hasNulls() bool {
	return r.from.Validity != nil && !bitmap.AllSet(r.from.Validity, r.first, r.rows)
}

// hasChained reports whether a value of the run lies in a chain of extents, which end with
// their job.
func (r *run) hasChained() bool {
	at := r.heap
	for i := range r.rows {
		next := offset(r.from, r.first+i+1)
		if v := joincore.HeapSpan(r.from.Heap, at, next); len(v) > 0 && v[0] == chained {
			return true
		}
		at = next
	}
	return false
}

// chained is the first byte of a value that is a reference into a chain of extents.
const chained = 0x01

// shape is the sizes of a span's arrays.
type shape struct {
	column   joincore.Column
	rows     int
	heap     int64 // bytes; the offsets are 32 bits wide
	validity bool
}

func (h *shape) values() int64 {
	if h.column.Kind == joincore.Varlena {
		return int64(4 * (h.rows + 1))
	}
	return int64(h.rows) * int64(h.column.Width)
}

// bytes returns the size of the span.
func (h *shape) bytes() int64 {
	n := alignUp(h.values(), spanAlign) + alignUp(h.heap, spanAlign)
	if h.validity {
		n += int64(h.rows+7) / 8
	}
	return n
}

// vector lays the arrays out in a span.
func (h *shape) vector(data []byte) (v joincore.Vector) {
	take := func(n int64) []byte {
		part := data[:n:n]
		data = data[min(alignUp(n, spanAlign), int64(len(data))):]
		return part
	}
	v.Values = take(h.values())
	if h.column.Kind == joincore.Varlena {
		v.Heap = take(h.heap)
	}
	if h.validity {
		v.Validity = take(int64(h.rows+7) / 8)
	}
	return v
}

// shapeOf returns the shape of the values of runs.
func shapeOf(c joincore.Column, runs []run) (h shape) {
	h.column = c
	for i := range runs {
		r := &runs[i]
		h.rows += r.rows
		h.heap += int64(r.end - r.heap)
		h.validity = h.validity || r.hasNulls()
	}
	return h
}

// errChanged means that a peer has changed a batch that it had handed over.
var errChanged = fmt.Errorf("%w: a captured batch has changed", joincore.ErrInvalid)

// fill copies the values of runs to a vector of their shape. What it writes is well-formed
// whatever a peer does meanwhile: offsets increase and stay within the heap, and no value is
// chained; or it returns errChanged.
func fill(c joincore.Column, to *joincore.Vector, runs []run) error {
	row := 0
	var heap uint32
	if c.Kind == joincore.Varlena {
		binary.LittleEndian.PutUint32(to.Values, 0)
	}
	for i := range runs {
		r := &runs[i]
		if c.Kind == joincore.Varlena {
			if err := r.copyVariable(to, row, heap); err != nil {
				return err
			}
			heap += r.end - r.heap
		} else {
			copy(to.Values[row*c.Width:], r.from.Values[r.first*c.Width:(r.first+r.rows)*c.Width])
		}
		switch {
		case to.Validity == nil:
		case r.from.Validity == nil:
			bitmap.Set(to.Validity, row, r.rows)
		default:
			bitmap.Copy(to.Validity, row, r.from.Validity, r.first, r.rows)
		}
		row += r.rows
	}
	return nil
}

// copyVariable copies the values of a run to a row on, and their bytes to the byte `base` of
// the heap on.
func (r *run) copyVariable(to *joincore.Vector, row int, base uint32) error {
	size := r.end - r.heap
	values := to.Heap[base : base+size]
	copy(values, r.from.Heap[r.heap:r.end])
	from := r.from.Values[4*(r.first+1):][:4*r.rows]
	offsets := to.Values[4*(row+1):][:4*r.rows]
	at := uint32(0)
	for i := 0; i < len(from); i += 4 {
		next := binary.LittleEndian.Uint32(from[i:]) - r.heap
		if !r.trusted {
			if next > size || next < at {
				return errChanged
			}
			if next > at && values[at] == chained {
				return errChanged
			}
		}
		binary.LittleEndian.PutUint32(offsets[i:], base+next)
		at = next
	}
	if at != size {
		return errChanged
	}
	return nil
}
