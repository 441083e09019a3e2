//go:build cuda

package cuda

import (
	"gpujoin/joincore"
	"gpujoin/joincore/cuda/driver"
)

// Bytes is what columns of the view take on the device.
func (v *view) Bytes(columns []int) int64 {
	n := int64(0)
	for _, j := range columns {
		desc := v.input.Relation.Columns[j]
		if v.input.Nullable(j) {
			n += driver.Lines(v.rows)
		}
		if desc.Kind == joincore.Fixed {
			n += driver.Lines(v.rows * int64(desc.Width))
			continue
		}
		n += driver.Lines(16 * v.rows)
		for i := v.low; i < v.high; i++ {
			s := &v.input.Relation.Segments[i]
			n += driver.Lines(4*int64(s.Rows+1)) + driver.Lines(int64(len(s.Columns[j].Heap)))
		}
	}
	return n
}
