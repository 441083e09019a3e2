package exchange

import (
	"testing"
)

func TestCutCoversTheRowsOnce(t *testing.T) {
	for _, c := range []struct{ rows, width, packet int64 }{{0, 8, 64}, {1, 8, 64}, {8, 8, 64}, {9, 8, 64}, {100, 12, 64}, {5, 100, 64}} {
		next := int64(3)
		for _, p := range Cut(Range{3, 3 + c.rows}, c.width, c.packet) {
			if p.Rows.Low != next || p.Raw != (p.Rows.High-p.Rows.Low)*c.width || p.Wire != p.Raw || p.Raw > max(c.packet, c.width) {
				t.Errorf("%+v: %+v", c, p)
			}
			next = p.Rows.High
		}
		if next != 3+c.rows {
			t.Errorf("%+v ends at %d", c, next)
		}
	}
}

func TestRunsOfSlots(t *testing.T) {
	for _, c := range []struct {
		free         Slots
		most         int
		first, count int
	}{
		{0, 8, 0, 0},
		{0b1, 8, 0, 1},
		{0b1111_1111, 8, 0, 8},
		{0b1111_1111, 3, 0, 3},
		{0b0111_0110, 8, 4, 3},
		{0b1000_0000, 1, 7, 1},
		{slots(0, 64), 64, 0, 64},
		{slots(60, 4), 8, 60, 4},
	} {
		if first, count := c.free.run(c.most); count != c.count || count > 0 && first != c.first {
			t.Errorf("%b, at most %d: %d from %d on", c.free, c.most, count, first)
		}
	}
}
