package phj

import "testing"

// Values of a packed row lie in its lanes without overlapping or crossing lanes, each
// at a multiple of its width, and at most half of the last lane is padding.
func TestPackedValues(t *testing.T) {
	for _, widths := range [][]int{
		{4}, {1}, {16}, {2, 1}, {4, 4, 4, 4, 4}, {1, 2, 4, 8, 16}, {8, 4, 8}, {1, 1, 1, 1, 1, 1, 1, 1, 1}, {16, 16, 2}, {4, 8, 1, 1, 8, 2, 16, 1},
	} {
		total := packedBytes(widths)
		used := make([]bool, total)
		for _, v := range packValues(widths) {
			w := widths[v.column]
			if v.lane%laneBytes != 0 || v.offset%w != 0 || v.offset+w > v.laneSize || v.lane+v.laneSize > total {
				t.Errorf("%v: column %d at %+v", widths, v.column, v)
			}
			if v.laneSize != laneBytes && v.lane+v.laneSize != total {
				t.Errorf("%v: a lane of %d bytes is not the last", widths, v.laneSize)
			}
			for b := v.lane + v.offset; b < v.lane+v.offset+w; b++ {
				if used[b] {
					t.Errorf("%v: byte %d has two values", widths, b)
				}
				used[b] = true
			}
		}
		if n := sum(widths); n > total || total > n+7 || total%4 != 0 {
			t.Errorf("%v: %d bytes of lanes", widths, total)
		}
	}
}
