package exec

import (
	"testing"

	"gpujoin/joincore"
	"gpujoin/joincore/costmodel"
)

// planShapes make plans of n joins.
var planShapes = map[string]func(joins int) joincore.Node{
	"left-deep": func(joins int) joincore.Node {
		var root joincore.Node = &joincore.Scan{}
		for i := range joins {
			root = filtered(joinOn(root, &joincore.Scan{Input: i + 1}, 0, i+1))
		}
		return root
	},
	"right-deep": func(joins int) joincore.Node {
		var root joincore.Node = &joincore.Scan{Input: joins}
		for i := joins - 1; i >= 0; i-- {
			root = filtered(joinOn(&joincore.Scan{Input: i}, root, i, joins))
		}
		return root
	},
	"balanced": func(joins int) joincore.Node { return balanced(0, joins+1) },
}

func balanced(first, inputs int) joincore.Node {
	if inputs == 1 {
		return filtered(&joincore.Scan{Input: first})
	}
	half := inputs / 2
	return joinOn(balanced(first, half), balanced(first+half, inputs-half), first, first+half)
}

func joinOn(left, right joincore.Node, leftInput, rightInput int) joincore.Node {
	return &joincore.Join{Kind: joincore.Inner, Left: left, Right: right, Keys: []joincore.KeyPair{{
		Left: joincore.ColumnRef{Input: leftInput}, Right: joincore.ColumnRef{Input: rightInput}, Class: joincore.KeyInt,
	}}}
}

func filtered(n joincore.Node) joincore.Node {
	return &joincore.Filter{Child: n, Predicate: &joincore.And{}}
}

func nodes(n joincore.Node) int {
	switch n := n.(type) {
	case *joincore.Filter:
		return 1 + nodes(n.Child)
	case *joincore.Join:
		return 1 + nodes(n.Left) + nodes(n.Right)
	}
	return 1
}

// TestPlanningIsLinear: estimating and predicting look at each node of a plan
// once, however deep it is and whatever is estimated of its rows. A job has at
// most 64 inputs.
func TestPlanningIsLinear(t *testing.T) {
	for _, joins := range []int{4, 63} {
		for name, shape := range planShapes {
			for _, rows := range []float64{0, 1000, 1e9} {
				lookOnce(t, name, shape(joins), joins, rows)
			}
		}
	}
}

func checked(t *testing.T, plan *joincore.Plan) *joincore.Checked {
	t.Helper()
	c, err := joincore.Check(plan)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func lookOnce(t *testing.T, name string, root joincore.Node, joins int, rows float64) {
	plan := &joincore.Plan{Root: root, Output: []joincore.ColumnRef{{}}}
	var inputs []*joincore.Relation
	for range joins + 1 {
		columns := []joincore.Column{{Kind: joincore.Fixed, Width: 8, Align: 8}}
		plan.Inputs = append(plan.Inputs, joincore.Input{Columns: columns, Rows: rows})
		inputs = append(inputs, &joincore.Relation{Columns: columns})
	}
	valid := checked(t, plan)
	e := newEstimator(valid, Options{Rates: &costmodel.Rates{NPJRows: 1 << 16}})
	if e.flow(plan.Root, newColumns(plan.Output)); e.visited != nodes(plan.Root) {
		t.Fatalf("%s of %v rows: estimating looks %d times at %d nodes", name, rows, e.visited, nodes(plan.Root))
	}
	seen := 0
	newSized(valid, planned, func(input int) int64 { return inputs[input].Rows() }, nil).eachJoin(plan.Root, newColumns(plan.Output), func(*joincore.Join, *side, *side) { seen++ })
	if seen != joins {
		t.Fatalf("%s: predicting looks %d times at %d joins", name, seen, joins)
	}
}
