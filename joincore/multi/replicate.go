package multi

import (
	"fmt"

	"gpujoin/joincore"
	"gpujoin/joincore/costmodel"
	"gpujoin/joincore/device"
)

// copied returns an input that each member reads whole.
func (x *execution) copied(input int) *table {
	t := x.scan(input)
	for m := range t.parts {
		t.parts[m] = x.inputs[input]
	}
	t.same = true
	return t
}

// replicated returns the fragment of scans, filters and joins in which the members divide
// one input and read all others whole, or partition both of two inputs together.
func (x *execution) replicated(n joincore.Node) (*fragment, error) {
	var tables []*table
	own := map[int]int{} // of inputs of the plan
	for i := range x.inputs {
		if !below(n, i) {
			continue
		}
		own[i] = len(tables)
		if i == x.divided {
			tables = append(tables, x.scan(i))
		} else {
			tables = append(tables, x.copied(i))
		}
	}
	f := x.over(tables)
	f.together = x.together != nil
	t := tree{f: f, own: own}
	f.root = t.node(n)
	return f, t.err
}

// tree builds a fragment's nodes from those of the plan.
type tree struct {
	f   *fragment
	own map[int]int // the fragment's input for one of the plan
	err error
}

func (t *tree) keep(err error) {
	if t.err == nil {
		t.err = err
	}
}

func (t *tree) node(n joincore.Node) joincore.Node {
	switch n := n.(type) {
	case *joincore.Scan:
		return &joincore.Scan{Input: t.own[n.Input]}
	case *joincore.Filter:
		child := t.node(n.Child)
		predicate, err := rewriteExpr(n.Predicate, t.f.ref)
		t.keep(err)
		return &joincore.Filter{Child: child, Predicate: predicate}
	case *joincore.Join:
		return t.join(n)
	case *joincore.Aggregate:
		return t.aggregate(n)
	}
	t.keep(fmt.Errorf("plan node %T on several devices: %w", n, joincore.ErrUnsupported))
	return n
}

// join has the side that all members have in common built, so that it is uploaded once
// for all of them and each probes with its own rows.
func (t *tree) join(n *joincore.Join) joincore.Node {
	x := t.f.x
	own := &joincore.Join{Kind: n.Kind, Left: t.node(n.Left), Right: t.node(n.Right), Rows: n.Rows}
	var err error
	own.Residual, err = rewriteExpr(n.Residual, t.f.ref)
	t.keep(err)
	for _, k := range n.Keys {
		own.Keys = append(own.Keys, joincore.KeyPair{Left: t.f.ref(k.Left), Right: t.f.ref(k.Right), Class: k.Class})
	}
	j := fragmentJoin{of: n, same: [2]bool{!below(n.Left, x.divided), !below(n.Right, x.divided)}}
	switch {
	case t.f.together:
		own.Rows /= float64(x.members())
		j.same = [2]bool{}
		left, right := n.Left.(*joincore.Scan), n.Right.(*joincore.Scan)
		build := costmodel.Join{LeftRows: x.inputs[left.Input].Rows(), RightRows: x.inputs[right.Input].Rows()}.BuildLeft()
		j.decided, j.decision = true, costmodel.Decision{BuildLeft: build, Algorithm: x.plan.Algorithm}
	case j.same[0] != j.same[1]:
		own.Rows /= float64(x.members())
		j.decided, j.decision = true, costmodel.Decision{BuildLeft: j.same[0], Algorithm: x.plan.Algorithm}
	}
	if x.opt.Decide != nil {
		j.decided, j.decision = true, x.opt.Decide(x.number[n], j.decision)
	}
	t.f.joins = append(t.f.joins, j)
	return own
}

// aggregate is one whose groups all members have in common.
func (t *tree) aggregate(n *joincore.Aggregate) joincore.Node {
	f := t.f
	child := t.node(n.Child)
	own, err := f.rewritten(n)
	if err != nil {
		t.keep(err)
		return n
	}
	own.Child, own.ID, own.Rows = child, len(f.tables)+len(f.aggregates), n.Rows
	f.aggregates = append(f.aggregates, grouping{of: n, same: true})
	for i := range len(own.Keys) + len(own.Carry) + len(own.Functions) {
		f.columns[joincore.ColumnRef{Input: n.ID, Column: i}] = joincore.ColumnRef{Input: own.ID, Column: i}
	}
	return own
}

// first moves all rows to the first member.
func (t *table) first() {
	all := &joincore.Relation{Columns: t.parts[0].Columns}
	for m, r := range t.parts {
		all.Segments = append(all.Segments, r.Segments...)
		t.parts[m] = &joincore.Relation{Columns: r.Columns}
	}
	t.parts[0] = all
}

// sharer is a provider that uploads an input once for several executions that read it
// whole on different devices.
type sharer interface {
	device.Provider
	// Share returns, for an execution on each of the providers, what it gets as
	// device.Options.Common. inputs are those that all of them read whole.
	Share(members []device.Provider, inputs []int) []any
}

// common returns what the members get as Options.Common, or nil. works says which of them
// execute the fragment.
func (f *fragment) common(works []bool) []any {
	if f.together {
		return f.x.together
	}
	var inputs []int
	for i, t := range f.tables {
		if t.same {
			inputs = append(inputs, i)
		}
	}
	s, ok := f.x.p.members[0].(sharer)
	if !ok || len(inputs) == 0 {
		return nil
	}
	var members []device.Provider
	for m, p := range f.x.p.members {
		if works[m] {
			members = append(members, p)
		}
	}
	list := make([]any, len(works))
	if len(members) < 2 {
		return list
	}
	shared := s.Share(members, inputs)
	for m := range works {
		if works[m] {
			list[m], shared = shared[0], shared[1:]
		}
	}
	return list
}
