package sidecar

import (
	"math"
	"testing"
)

func TestPortion(t *testing.T) {
	const full = 22_000
	for _, c := range []struct {
		participants uint32
		expected     float64
		out          int64
		want         int
	}{
		{1, 57_000, 0, full}, // a single participant
		{3, 57_000, 0, 2375},
		{3, 57_000, 100_000, 4166}, // more than expected
		{3, 10, 0, leastPortion},
		{3, 0, 0, leastPortion},
		{2, 1e9, 0, full},
		{2, math.Inf(1), 0, full},
		{2, 0, math.MaxInt64, full},
	} {
		if got := portion(full, c.participants, c.expected, c.out); got != c.want {
			t.Errorf("%d participants, %g rows expected, %d out: %d rows, not %d", c.participants, c.expected, c.out, got, c.want)
		}
	}
	if got := portion(100, 4, 10, 0); got != 100 {
		t.Errorf("%d rows in a batch of 100", got)
	}
}
