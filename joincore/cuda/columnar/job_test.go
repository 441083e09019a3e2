package columnar

import (
	"errors"
	"testing"

	"gpujoin/joincore"
	"gpujoin/joincore/cuda/kernels"
)

// A join is refused if its rows have no numbers, or the bytes of its result overflow.
func TestCheckRows(t *testing.T) {
	for _, c := range []struct {
		build, probe, output int64
		ok, memory           bool
	}{
		{0, 0, 0, true, false}, {kernels.MaxRows - 1, kernels.MaxRows - 1, 1 << 48, true, false},
		{kernels.MaxRows, 1, 0, false, false}, {1, kernels.MaxRows, 0, false, false}, {-1, 1, 0, false, false},
		{1, 1, -1, false, true}, {1, 1, 1<<48 + 1, false, true}, {1, 1, 1 << 62, false, true},
	} {
		if err := checkRows([2]int64{c.build, c.probe}, c.output); (err == nil) != c.ok || errors.Is(err, joincore.ErrBudget) != c.memory {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

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

func TestRandom(t *testing.T) {
	for _, c := range []struct{ n, unit, of, cache, want int64 }{
		{0, 64, 1 << 30, 1 << 20, 0},
		{10, 64, 0, 1 << 20, 0},
		{1 << 20, 64, 1 << 30, 0, 64 << 20}, // no cache
		{10, 64, 1 << 20, 1 << 20, 640},     // few accesses to cached data
		{1 << 30, 64, 1 << 20, 1 << 20, 1 << 20},
		{1 << 24, 32, 4 << 20, 1 << 20, 1<<20 + 3<<27}, // three of four are not held
	} {
		if got := random(c.n, c.unit, c.of, c.cache); got != c.want {
			t.Errorf("%d times %d bytes out of %d with a cache of %d: %d bytes in place of %d", c.n, c.unit, c.of, c.cache, got, c.want)
		}
	}
}
