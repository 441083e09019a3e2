package hostinput

import "gpujoin/joincore"

// BytesPerRow is what columns of an input take on the device.
func (h *Input) BytesPerRow(columns []int) int64 {
	n := int64(0)
	for _, j := range columns {
		c := h.Relation.Columns[j]
		n += int64(c.Width) + 1
		if c.Kind == joincore.Varlena {
			n += 20 + int64(h.heapBytes(j)/max(h.RowCount(), 1))
		}
	}
	return n
}

// heapBytes returns the bytes of a column's heaps.
func (h *Input) heapBytes(column int) int64 {
	n := int64(0)
	for i := range h.Relation.Segments {
		n += int64(len(h.Relation.Segments[i].Columns[column].Heap))
	}
	return n
}
