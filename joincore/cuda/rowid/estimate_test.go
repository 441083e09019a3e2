package rowid

import (
	"math/rand/v2"
	"testing"
)

// The number of groups is known from a part of the rows, whatever fraction of them
// passes a filter.
func TestExpectedGroups(t *testing.T) {
	for _, groups := range []int{1, 1000, 1 << 20} {
		for _, passing := range []float64{1, 0.5, 0.01} {
			r := rand.New(rand.NewPCG(uint64(groups), 3))
			seen, count := make([]bool, groups), int64(0)
			var s sample
			for _, rows := range []int64{firstRows, nextRows} {
				for range rows {
					if g := r.IntN(groups); r.Float64() < passing && !seen[g] {
						seen[g] = true
						count++
					}
				}
				s.add(rows, count)
			}
			const further = 1 << 28
			want := int64(min(float64(groups), passing*further))
			if got := s.expected(further); got < want/2 || got > 2*want+1 && float64(got) > 1.3*passing*further {
				t.Errorf("%d groups of %v of the rows: %d", groups, passing, got)
			}
		}
	}
	if got := (&sample{}).expected(1000); got != 1000 {
		t.Errorf("of 1000 unknown rows %d groups are expected", got)
	}
}
