package multi

import (
	"slices"
	"time"

	"gpujoin/joincore"
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

// root executes the plan: fragments whose groups are merged, and then the last fragment
// into the sink. It returns how long members waited for the sink.
func (x *coordinator) root(sink joincore.Sink) (waited time.Duration, err error) {
	f, err := x.fragment(x.plan.Root)
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

// fragment returns the fragment that makes a node's rows. If the node is an aggregate, under filters or
// not, it first has several members group their rows, and merges these groups.
func (x *coordinator) fragment(n joincore.Node) (*fragment, error) {
	if x.members() == 1 || !grouped(n) {
		return x.replicated(n), nil
	}
	if a, ok := n.(*joincore.Aggregate); ok {
		return x.aggregate(a)
	}
	filter := n.(*joincore.Filter)
	f, err := x.fragment(filter.Child)
	if err != nil {
		return nil, err
	}
	f.filter(filter.Predicate)
	return f, nil
}

// scan returns an input, divided among the members.
func (x *coordinator) scan(input int) *table {
	return x.input(input, divide(x.inputs[input], x.p.members))
}

// copied returns an input that each member reads whole.
func (x *coordinator) copied(input int) *table {
	t := x.input(input, slices.Repeat([]*joincore.Relation{x.inputs[input]}, x.members()))
	t.same = true
	return t
}

// input returns the table of an input of which members have some parts.
func (x *coordinator) input(input int, parts []*joincore.Relation) *table {
	refs := make([]joincore.ColumnRef, len(x.inputs[input].Columns))
	for i := range refs {
		refs[i] = joincore.ColumnRef{Input: input, Column: i}
	}
	return x.newTable(refs, parts, func() {})
}
