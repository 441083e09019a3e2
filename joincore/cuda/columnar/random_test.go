package columnar

import "testing"

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
