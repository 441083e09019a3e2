package phj

import (
	"slices"
	"testing"
)

func TestEnds(t *testing.T) {
	for _, c := range []struct {
		rows   int64
		ranges Ranges
		want   []int64
	}{
		{0, Even(3), []int64{0, 0, 0}}, {1, Even(3), []int64{0, 0, 1}}, {64, Even(1), []int64{64}}, {65, Even(2), []int64{64, 65}},
		{129, Even(2), []int64{64, 129}}, {1000, Even(3), []int64{384, 704, 1000}}, {1 << 28, Even(4), []int64{1 << 26, 2 << 26, 3 << 26, 4 << 26}},
		{6000, Ranges{1, 2, 3}, []int64{1024, 3008, 6000}}, {1<<62 + 1, Ranges{1, 1}, []int64{1 << 61, 1<<62 + 1}},
		{800, Even(9), []int64{128, 256, 320, 448, 512, 640, 704, 800}},
	} {
		if got := c.ranges.Ends(c.rows); !slices.Equal(got, c.want) {
			t.Errorf("%d rows in ranges %v: %v in place of %v", c.rows, c.ranges, got, c.want)
		}
	}
}

func TestRangesAreEstimatedByTheFirst(t *testing.T) {
	r := Ranges{2, 3, 5}
	if all, first := r.Rows(20), r.First(100); all != 100 || first != 20 || r.Count() != 3 {
		t.Errorf("%d rows, %d in the first of %d ranges", all, first, r.Count())
	}
	for want, r := range map[string]Ranges{"0": {}, "3": Even(3), "2:3:5": r, "1": Even(1)} {
		if got := r.String(); got != want {
			t.Errorf("%s in place of %s", got, want)
		}
	}
}
