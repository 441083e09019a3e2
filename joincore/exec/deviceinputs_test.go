package exec

import (
	"slices"
	"testing"

	"gpujoin/joincore"
)

// The distinct values of an aggregate's functions have numbers behind those of all results.
func TestDeviceInputs(t *testing.T) {
	distinct := func(input, n int) (list []joincore.Function) {
		for i := range n {
			list = append(list, joincore.Function{Kind: joincore.Count, Arg: joincore.ColumnRef{Input: input, Column: i}, Distinct: true})
		}
		return append(list, joincore.Function{Kind: joincore.Count})
	}
	below := &joincore.Aggregate{ID: 1, Child: &joincore.Scan{}, Functions: distinct(0, 3)}
	above := &joincore.Aggregate{ID: 2, Child: below, Functions: distinct(1, 1)}
	int8 := joincore.Column{Kind: joincore.Fixed, Width: 8, Align: 8}
	for want, root := range map[int]joincore.Node{1: &joincore.Scan{}, 1 + 1 + 3: below, 1 + 2 + 3: above} {
		if got := deviceInputs(checked(t, &joincore.Plan{Inputs: []joincore.Input{{Columns: slices.Repeat([]joincore.Column{int8}, 3)}}, Root: root})); got != want {
			t.Errorf("%d inputs, want %d", got, want)
		}
	}
}
