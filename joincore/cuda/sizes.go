//go:build cuda

package cuda

import "gpujoin/joincore"

// bytes is what columns of the view take on the device.
func (v *view) bytes(columns []int) int64 {
	n := int64(0)
	for _, j := range columns {
		desc := v.input.relation.Columns[j]
		if v.input.nullable(j) {
			n += lines(v.rows)
		}
		if desc.Kind == joincore.Fixed {
			n += lines(v.rows * int64(desc.Width))
			continue
		}
		n += lines(16 * v.rows)
		for i := v.low; i < v.high; i++ {
			s := &v.input.relation.Segments[i]
			n += lines(4*int64(s.Rows+1)) + lines(int64(len(s.Columns[j].Heap)))
		}
	}
	return n
}

// bytesPerRow is what columns of an input take on the device.
func (h *hostInput) bytesPerRow(columns []int) int64 {
	n := int64(0)
	for _, j := range columns {
		c := h.relation.Columns[j]
		n += int64(c.Width) + 1
		if c.Kind == joincore.Varlena {
			n += 20 + int64(h.heapBytes(j)/max(h.rows(), 1))
		}
	}
	return n
}

// heapBytes returns the bytes of a column's heaps.
func (h *hostInput) heapBytes(column int) int64 {
	n := int64(0)
	for i := range h.relation.Segments {
		n += int64(len(h.relation.Segments[i].Columns[column].Heap))
	}
	return n
}
