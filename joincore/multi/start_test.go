package multi

import (
	"slices"
	"testing"
)

// Members ask for batches of one shape as far as their rows are alike; rows that are much
// larger, or smaller, get batches of their own.
func TestCommonShape(t *testing.T) {
	s := newStart(2)
	for i, c := range []struct{ ask, want []float64 }{
		{[]float64{10, 0}, []float64{10, 0}},
		{[]float64{12, 0}, []float64{12, 0}},
		{[]float64{9, 0}, []float64{12, 0}},
		{[]float64{1000, 0}, []float64{1000, 0}},
		{[]float64{11, 0}, []float64{12, 0}},
		{[]float64{5, 0}, []float64{5, 0}},
		{[]float64{11, 3}, []float64{11, 3}},
	} {
		if got := s.common(c.ask); !slices.Equal(got, c.want) {
			t.Errorf("%d: %v for %v, not %v", i, got, c.ask, c.want)
		}
	}
}
