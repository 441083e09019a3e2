package rowid

import "testing"

// Rows are scattered if the table of groups exceeds the cache and each has several rows;
// partitions have space for all rows and groups that fit a table.
func TestScatterPlans(t *testing.T) {
	const rows, held, slotBytes, cache = 1 << 28, 5000, 32, 50 << 20
	for _, c := range []struct {
		rows, groups int64
		passed       float64
		free         int64
		want         bool
	}{
		{rows, 1 << 10, 1, 1 << 36, false}, {rows, held, 1, 1 << 36, false}, {rows, 1 << 14, 0.5, 1 << 36, false}, {rows, 1 << 20, 0.5, 1 << 36, true},
		{rows, 1 << 24, 1, 1 << 36, true}, {rows, 1 << 27, 1, 1 << 36, false}, {rows, 1 << 20, 0.5, 1 << 29, false},
		{1 << 22, 1 << 20, 1, 1 << 36, true}, {1<<22 - 1, 1 << 20, 1, 1 << 36, false}, {rows, 1 << 20, 0.001, 1 << 36, false},
	} {
		p := planScatter(c.rows, c.groups, c.passed, held, slotBytes, cache, c.free)
		if (p.partitions > 0) != c.want {
			t.Errorf("%+v: %+v", c, p)
		}
		if p.partitions > 0 && (p.partitions&(p.partitions-1) != 0 || p.groups > held || p.bytes() > c.free/2 ||
			float64(p.partitions*p.capacity) < float64(c.rows)*c.passed) {
			t.Errorf("%+v: %+v", c, p)
		}
	}
}
