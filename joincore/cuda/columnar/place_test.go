package columnar

import "testing"

func TestHost(t *testing.T) {
	for _, c := range []struct {
		widths []int
		want   int
		extra  int64
	}{{[]int{2, 16, 4, 8, 4}, 2, 0}, {[]int{16, 8}, 1, 0}, {[]int{16}, 0, 0}, {[]int{1, 2, 2}, -1, 4}, {nil, -1, 4}} {
		if got := numberColumn(c.widths); got != c.want {
			t.Errorf("%v: column %d in place of %d", c.widths, got, c.want)
		}
		if got := NumberBytes(c.widths, true); got != c.extra {
			t.Errorf("%v: %d bytes a row in place of %d", c.widths, got, c.extra)
		}
		if got := NumberBytes(c.widths, false); got != 4 {
			t.Errorf("%v, apart: %d bytes a row", c.widths, got)
		}
	}
}
