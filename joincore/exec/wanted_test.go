package exec

import (
	"reflect"
	"testing"

	"gpujoin/joincore"
	"gpujoin/joincore/device"
)

// TestForeignKeysAreFetchedLate: in a sequence of joins, a join's result holds
// the key of the next one and what the plan returns; keys of later joins wait,
// with the row numbers that lead to them.
func TestForeignKeysAreFetchedLate(t *testing.T) {
	int8s := func(n int) joincore.Input {
		in := joincore.Input{}
		for range n {
			in.Columns = append(in.Columns, joincore.Column{Kind: joincore.Fixed, Width: 8, Align: 8})
		}
		return in
	}
	col := func(input, column int) joincore.ColumnRef { return joincore.ColumnRef{Input: input, Column: column} }
	columns := func(refs ...joincore.ColumnRef) []joincore.ColumnRef { return refs }
	// Input 0 has three foreign keys, a text and a payload; 1 to 3 are
	// dimensions of key and payload.
	plan := &joincore.Plan{
		Inputs: []joincore.Input{int8s(5), int8s(2), int8s(2), int8s(2)},
		Root:   &joincore.Scan{},
		Output: columns(col(0, 4), col(1, 1), col(2, 1), col(3, 1)),
	}
	plan.Inputs[0].Columns[3] = joincore.Column{Kind: joincore.Varlena, Align: 4}
	var joins []*joincore.Join
	for i := range 3 {
		j := &joincore.Join{Kind: joincore.Inner, Left: plan.Root, Right: &joincore.Scan{Input: i + 1}, Keys: []joincore.KeyPair{
			{Left: col(0, i), Right: col(i+1, 0), Class: joincore.KeyInt},
		}}
		joins = append(joins, j)
		plan.Root = j
	}
	bulkOf := func(plan *joincore.Plan) *bulk {
		valid := checked(t, plan)
		return &bulk{planState: &planState{sized: newSized(valid, planned, func(int) int64 { return 0 }, nil)}}
	}
	b := bulkOf(plan)
	w := wanted{all: newColumns(plan.Output), soon: newColumns(plan.Output)}
	want := []device.Keep{ // of the probe side in the result of each join
		{Columns: columns(col(0, 1), col(0, 4)), Late: columns(col(0, 2)), Inputs: []int{0}},
		{Columns: columns(col(0, 2), col(0, 4), col(1, 1))},
		{Columns: columns(col(0, 4), col(1, 1), col(2, 1))},
	}
	for i := 2; i >= 0; i-- {
		build, probe := b.sidesOf(joins[i], w.all, false)
		if got := b.keep(w, probe.inputs); !reflect.DeepEqual(got, want[i]) {
			t.Errorf("join %d keeps %+v of its probe side, want %+v", i, got, want[i])
		}
		if got := b.keep(w, build.inputs); !reflect.DeepEqual(got, device.Keep{Columns: columns(col(i+1, 1))}) {
			t.Errorf("join %d keeps %+v of its build side", i, got)
		}
		w = b.sideOf(joins[i], probe, w)
	}

	// What is read further up by row number needs row numbers all the way.
	plan.Output = append(plan.Output, col(0, 3))
	b = bulkOf(plan)
	w = wanted{all: newColumns(plan.Output), soon: newColumns(plan.Output)}
	for i := 2; i >= 0; i-- {
		_, probe := b.sidesOf(joins[i], w.all, false)
		if got := b.keep(w, probe.inputs).Inputs; !reflect.DeepEqual(got, []int{0}) {
			t.Errorf("join %d keeps row numbers of inputs %v", i, got)
		}
		w = b.sideOf(joins[i], probe, w)
	}
}
