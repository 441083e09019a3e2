package device

import (
	"slices"
	"testing"

	"gpujoin/joincore"
)

func TestCarried(t *testing.T) {
	ref := func(input, column int) joincore.ColumnRef { return joincore.ColumnRef{Input: input, Column: column} }
	k := Keep{Inputs: []int{5}, Columns: []joincore.ColumnRef{ref(0, 0), ref(0, 9), ref(5, 9)}, Late: []joincore.ColumnRef{ref(0, 8), ref(2, 1), ref(3, 9)}}
	carried, inputs := k.Carried(func(r joincore.ColumnRef) bool { return r.Column < 8 })
	if want := []joincore.ColumnRef{ref(0, 0), ref(2, 1)}; !slices.Equal(carried, want) {
		t.Errorf("columns %v, want %v", carried, want)
	}
	if want := []int{5, 0, 3}; !slices.Equal(inputs, want) {
		t.Errorf("inputs %v, want %v", inputs, want)
	}
	if !slices.Equal(k.Inputs, []int{5}) {
		t.Errorf("Inputs became %v", k.Inputs)
	}
	if carried, inputs := (Keep{}).Carried(nil); carried != nil || inputs != nil {
		t.Errorf("of no columns: %v, %v", carried, inputs)
	}
}
