package multi

import (
	"fmt"
	"slices"
	"time"

	"gpujoin/joincore"
	"gpujoin/joincore/costmodel"
)

// columns is a list of columns, each once.
type columns []joincore.ColumnRef

func (c columns) with(more ...joincore.ColumnRef) columns {
	out := slices.Clone(c)
	for _, ref := range more {
		if !slices.Contains(out, ref) {
			out = append(out, ref)
		}
	}
	return out
}

// below returns those of the inputs under a node.
func (c columns) below(n joincore.Node) columns {
	inputs := joincore.Sources(n)
	return slices.DeleteFunc(slices.Clone(c), func(ref joincore.ColumnRef) bool { return !slices.Contains(inputs, ref.Input) })
}

// root executes the plan: fragments below the last exchange, and then the last fragment
// into the sink. It returns how long members waited for the sink.
func (x *coordinator) root(sink joincore.Sink) (waited time.Duration, err error) {
	f, err := x.fragment(x.plan.Root, columns(nil).with(x.plan.Output...))
	if err != nil {
		return 0, err
	}
	plan, err := f.plan(x.plan.Output)
	if err != nil {
		return 0, err
	}
	start := newStart(len(f.busy()))
	out, waited, err := f.run(plan, func(int) joincore.Sink { return start.sink(sink) })
	x.stats.RowsOut, x.stats.BytesOut = out.RowsOut, out.BytesOut
	return waited, err
}

// grouped reports whether a node is an aggregate, under filters or not.
func grouped(n joincore.Node) bool {
	switch n := n.(type) {
	case *joincore.Filter:
		return grouped(n.Child)
	case *joincore.Aggregate:
		return true
	}
	return false
}

// fragment executes all that is below a node's last exchange, and returns the fragment
// that makes the node's rows. need lists the columns that are read of them.
func (x *coordinator) fragment(n joincore.Node, need columns) (*fragment, error) {
	if x.p.group == nil && (x.members() == 1 || !grouped(n)) {
		return x.replicated(n), nil
	}
	switch n := n.(type) {
	case *joincore.Scan:
		return x.over([]*table{x.scan(n.Input)}), nil
	case *joincore.Filter:
		f, err := x.fragment(n.Child, need.with(joincore.Columns(n.Predicate)...))
		if err != nil {
			return nil, err
		}
		f.filter(n.Predicate)
		return f, nil
	case *joincore.Join:
		return x.join(n, need)
	case *joincore.Aggregate:
		return x.aggregate(n)
	}
	return nil, fmt.Errorf("plan node %T on several devices: %w", n, joincore.ErrUnsupported)
}

// scan returns an input, divided among the members.
func (x *coordinator) scan(input int) *table {
	r := x.inputs[input]
	refs := make([]joincore.ColumnRef, len(r.Columns))
	for i := range refs {
		refs[i] = joincore.ColumnRef{Input: input, Column: i}
	}
	return x.newTable(refs, divide(r, x.p.members), func() {})
}

// stored executes a node and returns its rows where they were made.
func (x *coordinator) stored(n joincore.Node, need columns) (*table, error) {
	if s, ok := n.(*joincore.Scan); ok {
		return x.scan(s.Input), nil
	}
	f, err := x.fragment(n, need)
	if err != nil {
		return nil, err
	}
	return f.collect(need, nil)
}

// join exchanges the rows of both sides by the join's key.
func (x *coordinator) join(n *joincore.Join, need columns) (*fragment, error) {
	need = need.with(joincore.Columns(n.Residual)...)
	left, right := side{node: n.Left}, side{node: n.Right}
	for _, k := range n.Keys {
		left.key = append(left.key, keyColumn{k.Left, k.Class})
		right.key = append(right.key, keyColumn{k.Right, k.Class})
	}
	left.keep = n.Kind == joincore.Left || n.Kind == joincore.Full || n.Kind == joincore.Anti
	right.keep = !copyRight(n.Kind)
	left.copy, right.copy = copyLeft(n.Kind), copyRight(n.Kind)
	for _, s := range []*side{&left, &right} {
		s.need = need.below(s.node)
		for _, k := range s.key {
			s.need = s.need.with(k.ref)
		}
		var err error
		if s.table, err = x.stored(s.node, s.need); err != nil {
			return nil, err
		}
	}
	d := x.decide(n, left.table.rows(), right.table.rows())
	tables, err := x.meet(n, d.BuildLeft, &left, &right)
	if err != nil {
		return nil, err
	}
	f := x.over(tables)
	f.joined(n, d)
	return f, nil
}

// decide chooses the build side, the same on all members, and what tests and benchmarks
// ask for.
func (x *coordinator) decide(n *joincore.Join, left, right int64) costmodel.Decision {
	d := costmodel.Decision{BuildLeft: costmodel.Join{LeftRows: left, RightRows: right}.BuildLeft(), Algorithm: x.plan.Algorithm}
	if x.opt.Decide != nil {
		d = x.opt.Decide(x.number[n], d)
	}
	return d
}
