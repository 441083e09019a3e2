package textcodes_test

import (
	"testing"

	"gpujoin/joincore"
	"gpujoin/joincore/cpu"
	"gpujoin/joincore/exec"
	"gpujoin/joincore/textcodes"
	"gpujoin/testsupport/bulk"
	"gpujoin/testsupport/suite"
)

// TestCompared has plans that compare texts of several inputs, of groups and of rows that
// outer joins add, look for the least and the greatest, and count different ones.
func TestCompared(t *testing.T) {
	inputs := []*joincore.Relation{manyTexts([]int{50, 0, 27}, 40, 300), manyTexts([]int{31}, 60, 9)}
	of := func(input, column int) joincore.ColumnRef { return joincore.ColumnRef{Input: input, Column: column} }
	text := func(s string) joincore.Value { return &joincore.Text{Bytes: []byte(s)} }
	compare := func(op joincore.CompareOp, left, right joincore.Value) joincore.Expr {
		return &joincore.Compare{Op: op, Left: left, Right: right}
	}
	join := func(kind joincore.Kind, residual joincore.Expr) joincore.Node {
		return &joincore.Join{
			Kind: kind, Left: &joincore.Scan{}, Right: &joincore.Scan{Input: 1}, Residual: residual,
			Keys: []joincore.KeyPair{{Left: of(0, 1), Right: of(1, 1), Class: joincore.KeyInt}},
		}
	}
	filter := func(n joincore.Node, e joincore.Expr) joincore.Node { return &joincore.Filter{Child: n, Predicate: e} }
	half := func(input int) joincore.Value {
		return &joincore.Substring{Arg: of(input, 0), From: 1, For: 6, Characters: joincore.UTF8}
	}
	// Neither is NULL in a row that an outer join adds.
	named := func(input int) joincore.Value {
		return &joincore.Coalesce{Args: []joincore.Value{of(input, 0), text("none")}}
	}
	isHalfNull := func(input int) joincore.Expr { return &joincore.IsNull{Arg: half(input)} }
	least := joincore.Function{Kind: joincore.Min, Arg: of(0, 0)}
	groups := func(n joincore.Node, keys []joincore.Value, functions ...joincore.Function) *joincore.Aggregate {
		return &joincore.Aggregate{Child: n, ID: 2, Keys: keys, Functions: functions}
	}
	key := []joincore.Value{of(0, 1)}
	outputs := func(input, n int) (list []joincore.ColumnRef) {
		for i := range n {
			list = append(list, of(input, i))
		}
		return list
	}
	extremes := []joincore.Function{least, {Kind: joincore.Max, Arg: half(0), Filter: compare(joincore.Less, of(0, 0), text("é3"))}}
	all := join(joincore.Semi, nil)
	below := groups(all, key, extremes...)
	p := textcodes.New(words{&bulk.Provider{Inner: cpu.New()}})
	for name, c := range map[string]struct {
		root    joincore.Node
		outputs []joincore.ColumnRef
	}{
		"equal":            {join(joincore.Inner, compare(joincore.NotEqual, of(0, 0), of(1, 0))), append(outputs(0, 2), outputs(1, 2)...)},
		"less":             {filter(join(joincore.Inner, nil), compare(joincore.Less, half(0), of(1, 0))), append(outputs(0, 2), outputs(1, 2)...)},
		"left, residual":   {join(joincore.Left, compare(joincore.GreaterEqual, of(0, 0), half(1))), append(outputs(0, 2), outputs(1, 2)...)},
		"full, filter":     {filter(join(joincore.Full, nil), compare(joincore.Less, of(0, 0), named(1))), append(outputs(0, 2), outputs(1, 2)...)},
		"added rows":       {filter(join(joincore.Left, nil), isHalfNull(1)), append(outputs(0, 2), outputs(1, 2)...)},
		"not added rows":   {filter(join(joincore.Full, nil), &joincore.Not{Arg: &joincore.Or{Args: []joincore.Expr{isHalfNull(0), isHalfNull(1)}}}), outputs(1, 2)},
		"added keys":       {groups(join(joincore.Left, nil), []joincore.Value{named(1), half(1)}, joincore.Function{Kind: joincore.Count}), outputs(2, 3)},
		"least of added":   {groups(join(joincore.Full, nil), nil, joincore.Function{Kind: joincore.Max, Arg: named(0)}, joincore.Function{Kind: joincore.Min, Arg: half(1)}), outputs(2, 2)},
		"least":            {below, outputs(2, 3)},
		"least of nothing": {groups(filter(all, compare(joincore.Less, of(0, 0), text(""))), nil, least), outputs(2, 1)},
		"least is":         {filter(below, compare(joincore.Equal, of(2, 1), text("é0"))), outputs(2, 3)},
		"least is less":    {filter(below, compare(joincore.Less, of(2, 1), of(2, 2))), outputs(2, 3)},
		"least joined": {&joincore.Join{
			Kind: joincore.Left, Left: &joincore.Scan{Input: 1}, Right: groups(&joincore.Scan{}, key, extremes...), Keys: []joincore.KeyPair{{Left: of(1, 0), Right: of(2, 1), Class: joincore.KeyVarlena}},
		}, append(outputs(1, 2), outputs(2, 3)...)},
		"least of least": {&joincore.Aggregate{Child: below, ID: 3, Keys: []joincore.Value{of(2, 2)}, Functions: []joincore.Function{
			{Kind: joincore.Max, Arg: of(2, 1)}, {Kind: joincore.Count, Arg: of(2, 1)}, {Kind: joincore.Count, Arg: of(2, 1), Distinct: true},
		}}, outputs(3, 4)},
		"different": {groups(join(joincore.Left, nil), key,
			joincore.Function{Kind: joincore.Count, Arg: of(1, 0), Distinct: true}, joincore.Function{Kind: joincore.Count, Arg: named(1), Distinct: true},
		), outputs(2, 3)},
	} {
		plan := &joincore.Plan{
			Inputs: []joincore.Input{{Columns: inputs[0].Columns}, {Columns: inputs[1].Columns}}, Root: c.root, Output: c.outputs,
		}
		if err := p.Check(suite.Checked(t, plan)); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		stats := suite.Check(t, name, p, plan, inputs, 7, exec.Options{})
		if joins := countJoins(c.root); len(stats.Joins) != joins {
			t.Errorf("%s: %d joins are reported of %d", name, len(stats.Joins), joins)
		}
	}
}

// countJoins returns the number of joins of a tree.
func countJoins(n joincore.Node) int {
	switch n := n.(type) {
	case *joincore.Filter:
		return countJoins(n.Child)
	case *joincore.Aggregate:
		return countJoins(n.Child)
	case *joincore.Join:
		return countJoins(n.Left) + countJoins(n.Right) + 1
	}
	return 0
}
