package exec

import (
	"testing"

	"gpujoin/joincore"
)

// The distinct values of an aggregate's functions have numbers behind those of all results.
func TestDeviceInputs(t *testing.T) {
	distinct := func(n int) (list []joincore.Function) {
		for i := range n {
			list = append(list, joincore.Function{Kind: joincore.Count, Arg: joincore.ColumnRef{Column: i}, Distinct: true})
		}
		return append(list, joincore.Function{Kind: joincore.Count})
	}
	below := &joincore.Aggregate{ID: 1, Child: &joincore.Scan{}, Functions: distinct(3)}
	above := &joincore.Aggregate{ID: 2, Child: below, Functions: distinct(1)}
	for want, root := range map[int]joincore.Node{1: &joincore.Scan{}, 1 + 1 + 3: below, 1 + 2 + 3: above} {
		if got := deviceInputs(&joincore.Plan{Inputs: make([]joincore.Input, 1), Root: root}); got != want {
			t.Errorf("%d inputs, want %d", got, want)
		}
	}
}
