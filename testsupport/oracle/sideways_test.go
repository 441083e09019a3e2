package oracle_test

import (
	"encoding/binary"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"gpujoin/joincore"
	"gpujoin/testsupport/oracle"
)

func scan(input int) joincore.Node { return &joincore.Scan{Input: input} }

// joined joins two trees on columns 0 of two inputs.
func joined(kind joincore.Kind, left joincore.Node, l int, right joincore.Node, r int) joincore.Node {
	return &joincore.Join{Kind: kind, Left: left, Right: right, Keys: []joincore.KeyPair{
		{Left: joincore.ColumnRef{Input: l}, Right: joincore.ColumnRef{Input: r}, Class: joincore.KeyInt},
	}}
}

// TestCanFilter lists, for small trees, the pairs of inputs of which the first can
// filter the second.
func TestCanFilter(t *testing.T) {
	type pairs [][2]int
	for name, c := range map[string]struct {
		root joincore.Node
		want pairs
	}{
		"inner": {joined(joincore.Inner, scan(0), 0, scan(1), 1), pairs{{0, 1}, {1, 0}}},
		"left":  {joined(joincore.Left, scan(0), 0, scan(1), 1), pairs{{0, 1}}},
		"right": {joined(joincore.Right, scan(0), 0, scan(1), 1), pairs{{1, 0}}},
		"full":  {joined(joincore.Full, scan(0), 0, scan(1), 1), nil},
		"semi":  {joined(joincore.Semi, scan(0), 0, scan(1), 1), pairs{{0, 1}, {1, 0}}},
		"anti":  {joined(joincore.Anti, scan(0), 0, scan(1), 1), pairs{{0, 1}}},
		"equal by way of another input": {
			joined(joincore.Inner, joined(joincore.Inner, scan(0), 0, scan(1), 1), 1, scan(2), 2),
			pairs{{0, 1}, {0, 2}, {1, 0}, {1, 2}, {2, 0}, {2, 1}},
		},
		"a left join keeps what an inner join filters": {
			joined(joincore.Inner, joined(joincore.Left, scan(0), 0, scan(1), 1), 0, scan(2), 2),
			pairs{{0, 1}, {0, 2}, {2, 0}},
		},
		"a row that a left join adds is not dropped": {
			joined(joincore.Left, scan(0), 0, joined(joincore.Inner, scan(1), 1, scan(2), 2), 1),
			pairs{{0, 1}, {0, 2}, {1, 2}, {2, 1}},
		},
		"below a full join": {
			joined(joincore.Full, scan(0), 0, joined(joincore.Inner, scan(1), 1, scan(2), 2), 1),
			pairs{{1, 2}, {2, 1}},
		},
		"the right side of an anti join loses no rows for its own left side": {
			joined(joincore.Inner, joined(joincore.Anti, scan(0), 0, scan(1), 1), 0, scan(2), 2),
			pairs{{0, 1}, {0, 2}, {2, 0}},
		},
		"below an aggregate": {
			&joincore.Aggregate{ID: 2, Child: joined(joincore.Inner, scan(0), 0, scan(1), 1)}, pairs{{0, 1}, {1, 0}},
		},
		"the result of an aggregate can filter, but its input is not filtered from above": {
			joined(joincore.Inner, &joincore.Aggregate{ID: 2, Child: scan(0), Keys: []joincore.Value{joincore.ColumnRef{}}}, 2, scan(1), 1),
			pairs{{2, 1}},
		},
		"bytes": {&joincore.Join{Kind: joincore.Inner, Left: scan(0), Right: scan(1), Keys: []joincore.KeyPair{
			{Right: joincore.ColumnRef{Input: 1}, Class: joincore.KeyBytes}}}, pairs{{0, 1}, {1, 0}}},
	} {
		var got pairs
		for s := range 3 {
			for to := range 3 {
				if joincore.CanFilter(c.root, joincore.ColumnRef{Input: s}, joincore.ColumnRef{Input: to}) {
					got = append(got, [2]int{s, to})
				}
			}
		}
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %v instead of %v", name, got, c.want)
		}
	}
}

// TestFilteredInputs: on random plans, inputs that are filtered by each other one
// after the other give the same result as whole ones.
func TestFilteredInputs(t *testing.T) {
	filtered := 0
	for seed := range uint64(3000) {
		r := rand.New(rand.NewPCG(seed, 1))
		g := &planMaker{Rand: r}
		g.varlena = seed%4 == 3
		root, _ := g.tree(2 + r.IntN(3))
		inputs := make([]*joincore.Relation, g.inputs)
		plan := &joincore.Plan{Root: root, Inputs: make([]joincore.Input, g.inputs)}
		for i := range inputs {
			inputs[i] = g.relation()
			plan.Inputs[i].Columns = inputs[i].Columns
		}
		for _, i := range g.visible(root) {
			plan.Output = append(plan.Output, joincore.ColumnRef{Input: i}, joincore.ColumnRef{Input: i, Column: 1})
		}
		want, err := oracle.Run(plan, inputs)
		if err != nil {
			t.Fatal(err)
		}
		for range 2 * len(inputs) {
			source := joincore.ColumnRef{Input: r.IntN(g.inputs), Column: r.IntN(2)}
			target := joincore.ColumnRef{Input: r.IntN(g.inputs), Column: r.IntN(2)}
			if !joincore.CanFilter(root, source, target) {
				continue
			}
			filtered++
			inputs[target.Input] = without(inputs[target.Input], target.Column, inputs[source.Input], source.Column)
			got, err := oracle.Run(plan, inputs)
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got, want) {
				t.Fatalf("seed %d: %v filtered by %v changes %v to %v", seed, target, source, readable(want), readable(got))
			}
		}
	}
	if filtered < 1000 {
		t.Errorf("only %d filters were applied", filtered)
	}
}

// planMaker makes random trees of joins over inputs of two columns, of int8 or
// of bytes.
type planMaker struct {
	*rand.Rand
	inputs  int
	varlena bool
}

// class draws how two columns are compared.
func (g *planMaker) class() joincore.KeyClass {
	if g.varlena {
		return joincore.KeyVarlena
	}
	return []joincore.KeyClass{joincore.KeyInt, joincore.KeyInt, joincore.KeyBytes}[g.IntN(3)]
}

// tree returns a tree of n inputs, and the inputs whose columns are visible.
func (g *planMaker) tree(n int) (joincore.Node, []int) {
	if n == 1 {
		g.inputs++
		return &joincore.Scan{Input: g.inputs - 1}, []int{g.inputs - 1}
	}
	k := 1 + g.IntN(n-1)
	left, l := g.tree(k)
	right, r := g.tree(n - k)
	j := &joincore.Join{Kind: joincore.Inner, Left: left, Right: right}
	if g.IntN(2) == 0 {
		j.Kind = joincore.Kind(1 + g.IntN(int(joincore.Anti)))
	}
	column := func(of []int) joincore.ColumnRef {
		return joincore.ColumnRef{Input: of[g.IntN(len(of))], Column: g.IntN(2)}
	}
	for range 1 + g.IntN(2) {
		j.Keys = append(j.Keys, joincore.KeyPair{Left: column(l), Right: column(r), Class: g.class()})
	}
	if g.IntN(4) == 0 {
		j.Residual = &joincore.Compare{Op: joincore.NotEqual, Left: column(l), Right: column(r)}
	}
	if j.Kind != joincore.Semi && j.Kind != joincore.Anti {
		l = append(slices.Clone(l), r...)
	}
	if g.IntN(4) == 0 {
		return &joincore.Filter{Child: j, Predicate: &joincore.IsNull{Arg: column(l)}}, l
	}
	return j, l
}

// visible returns the inputs whose columns the tree returns.
func (g *planMaker) visible(n joincore.Node) []int {
	switch n := n.(type) {
	case *joincore.Scan:
		return []int{n.Input}
	case *joincore.Filter:
		return g.visible(n.Child)
	case *joincore.Join:
		if n.Kind == joincore.Semi || n.Kind == joincore.Anti {
			return g.visible(n.Left)
		}
		return append(g.visible(n.Left), g.visible(n.Right)...)
	}
	return nil
}

// relation has up to 6 rows of small keys, NULLs among them.
func (g *planMaker) relation() *joincore.Relation {
	column := joincore.Column{Kind: joincore.Fixed, Width: 8, Align: 8}
	if g.varlena {
		column = joincore.Column{Kind: joincore.Varlena, Align: 4}
	}
	r := &joincore.Relation{Columns: []joincore.Column{column, column}}
	for range g.IntN(7) {
		seg := joincore.Segment{Rows: 1}
		for range 2 {
			v := joincore.Vector{Values: binary.LittleEndian.AppendUint64(nil, uint64(g.IntN(4))), Validity: []byte{1}}
			if g.varlena { // one byte after its header, from 0 to 4
				v.Values = []byte{0, 0, 0, 0, 4, 0, 0, 0}
				v.Heap = []byte{2<<1 | 1, 'a' + byte(g.IntN(4)), 0, 0}
			}
			if g.IntN(5) == 0 {
				v.Validity[0] = 0
			}
			seg.Columns = append(seg.Columns, v)
		}
		r.Segments = append(r.Segments, seg)
	}
	return r
}

// without drops the rows of a relation of one row a segment whose column is NULL
// or no value of a column of source.
func without(r *joincore.Relation, column int, source *joincore.Relation, sourceColumn int) *joincore.Relation {
	key := func(s joincore.Segment, column int) (string, bool) {
		v := s.Columns[column]
		return string(v.Values) + string(v.Heap), v.Validity[0] == 1
	}
	has := map[string]bool{}
	for _, s := range source.Segments {
		if k, ok := key(s, sourceColumn); ok {
			has[k] = true
		}
	}
	out := &joincore.Relation{Columns: r.Columns}
	for _, s := range r.Segments {
		if k, ok := key(s, column); ok && has[k] {
			out.Segments = append(out.Segments, s)
		}
	}
	return out
}
