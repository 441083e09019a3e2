package shm

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"
)

// Part is a part of an extent, such as one array occupies: the bytes from From to
// before To.
type Part struct{ From, To uint64 }

// regions collects the arrays of a batch, to check that they do not overlap.
type regions struct {
	extent []byte
	used   uint64
	taken  []Part
}

func (r *regions) claim(from, to uint64) { r.taken = append(r.taken, Part{from, to}) }

// slice returns n bytes at offset off, which must be aligned and in range.
func (r *regions) slice(what string, off uint32, n uint64) ([]byte, error) {
	from := uint64(off)
	if off%regionAlign != 0 || from+n > r.used {
		return nil, fmt.Errorf("%w: %s at %d, %d bytes, of %d in use", ErrBatchRegion, what, off, n, r.used)
	}
	r.claim(from, from+n)
	return r.extent[from : from+n : from+n], nil
}

// column resolves the offsets of c for the given rows. All lengths fit uint64, because
// rows have 32 bits and widths 16.
func (r *regions) column(s ColumnShape, c *Column, rows uint64) (v ColumnView, err error) {
	v.Shape, v.Nulls = s, int(c.Nulls)
	if err := s.Check(); err != nil {
		return v, err
	}
	if uint64(c.Nulls) > rows || c.ValidityOff == 0 && c.Nulls != 0 {
		return v, fmt.Errorf("%w: %d NULLs among %d rows", ErrBatchRegion, c.Nulls, rows)
	}
	n := rows * uint64(s.Width)
	if s.Encoding == EncVarlena {
		n = (rows + 1) * 4
	}
	if v.Values, err = r.slice("values", c.ValuesOff, n); err != nil {
		return v, err
	}
	if c.ValidityOff != 0 {
		if v.Validity, err = r.slice("validity", c.ValidityOff, (rows+7)/8); err != nil {
			return v, err
		}
	}
	if s.Encoding == EncFixed {
		if c.HeapOff != 0 || c.HeapLen != 0 {
			return v, fmt.Errorf("%w: heap of a fixed column", ErrBatchRegion)
		}
		return v, nil
	}
	if v.Heap, err = r.slice("heap", c.HeapOff, uint64(c.HeapLen)); err != nil {
		return v, err
	}
	return v, ordered(v.Values, c.HeapLen)
}

// ordered returns an error unless offsets never decrease and end within the heap.
func ordered(offsets []byte, heap uint32) error {
	last := uint32(0)
	for i := 0; i+4 <= len(offsets); i += 4 {
		o := binary.LittleEndian.Uint32(offsets[i:])
		if o < last || o > heap {
			return fmt.Errorf("%w: value %d at %d, after %d, heap of %d", ErrBatchOffsets, i/4, o, last, heap)
		}
		last = o
	}
	return nil
}

// disjoint returns an error if two regions overlap. Empty regions overlap nothing.
func (r *regions) disjoint() error {
	slices.SortFunc(r.taken, func(a, b Part) int { return cmp.Compare(a.From, b.From) })
	end := uint64(0)
	for _, t := range r.taken {
		if t.From == t.To {
			continue
		}
		if t.From < end {
			return fmt.Errorf("%w: at %d", ErrBatchOverlap, t.From)
		}
		end = t.To
	}
	return nil
}
