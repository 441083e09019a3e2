package multi

import (
	"fmt"
	"slices"

	"gpujoin/joincore"
	"gpujoin/joincore/costmodel"
	"gpujoin/joincore/device"
)

// fragment is a part of the plan that each member executes on its own rows: filters, joins and
// aggregates over tables. Members have the same rows of all tables but those of which each has a part.
type fragment struct {
	x      *coordinator
	tables []*table // its inputs
	root   joincore.Node
	// columns maps what is visible of the rows to the fragment's own columns.
	columns map[joincore.ColumnRef]joincore.ColumnRef

	joins      []fragmentJoin // in post-order
	aggregates []grouping     // in post-order
	// copartitions says that members partition two inputs together: all of them have the same
	// tables and make different rows.
	copartitions bool
	// meets describes the join at which members meet; nil: there is none.
	meets *device.Exchange
}

// fragmentJoin is a join of a fragment.
type fragmentJoin struct {
	of *joincore.Join // of the plan
	// decided says that decision holds, which the members share; otherwise each of
	// them decides on its own.
	decided  bool
	decision costmodel.Decision
	// Sides whose rows are the same on all members: left, right.
	same [2]bool
}

// grouping is an aggregate of a fragment.
type grouping struct {
	of *joincore.Aggregate // of the plan
	// merges says that it merges groups; same that all members make the same groups.
	merges, same bool
}

// over begins a fragment over tables, of which root has the rows: inputs of the
// fragment are numbered as the tables.
func (x *coordinator) over(tables []*table) *fragment {
	f := &fragment{x: x, tables: tables, columns: map[joincore.ColumnRef]joincore.ColumnRef{}}
	for i, t := range tables {
		for j, c := range t.refs {
			f.columns[c] = joincore.ColumnRef{Input: i, Column: j}
		}
	}
	f.root = &joincore.Scan{}
	return f
}

// ref returns the fragment's column for one of the plan.
func (f *fragment) ref(c joincore.ColumnRef) joincore.ColumnRef {
	own, ok := f.columns[c]
	if !ok {
		panic(fmt.Sprintf("column %v is not part of the fragment", c))
	}
	return own
}

func (f *fragment) refs(list []joincore.ColumnRef) []joincore.ColumnRef {
	out := make([]joincore.ColumnRef, len(list))
	for i, c := range list {
		out[i] = f.ref(c)
	}
	return out
}

// filter adds a condition.
func (f *fragment) filter(predicate joincore.Expr) {
	f.root = &joincore.Filter{Child: f.root, Predicate: joincore.MapColumns(predicate, f.ref)}
}

// join returns a join of two nodes over the fragment's columns.
func (f *fragment) join(n *joincore.Join, left, right joincore.Node) *joincore.Join {
	own := &joincore.Join{Kind: n.Kind, Left: left, Right: right, Residual: joincore.MapColumns(n.Residual, f.ref), Rows: n.Rows}
	for _, k := range n.Keys {
		own.Keys = append(own.Keys, joincore.KeyPair{Left: f.ref(k.Left), Right: f.ref(k.Right), Class: k.Class})
	}
	return own
}

// group adds an aggregate of a node's rows, whose result replaces their columns.
func (f *fragment) group(own *joincore.Aggregate, child joincore.Node, g grouping) joincore.Node {
	own.Child, own.ID, own.Rows = child, len(f.tables)+len(f.aggregates), g.of.Rows
	f.aggregates = append(f.aggregates, g)
	for i := range len(own.Keys) + len(own.Carry) + len(own.Functions) {
		f.columns[joincore.ColumnRef{Input: g.of.ID, Column: i}] = joincore.ColumnRef{Input: own.ID, Column: i}
	}
	return own
}

// aggregate returns an aggregate over the fragment's columns.
func (f *fragment) aggregate(n *joincore.Aggregate) *joincore.Aggregate {
	own := &joincore.Aggregate{Carry: f.refs(n.Carry)}
	for _, k := range n.Keys {
		own.Keys = append(own.Keys, joincore.MapColumns(k, f.ref))
	}
	for _, fn := range n.Functions {
		fn.Arg, fn.Filter = joincore.MapColumns(fn.Arg, f.ref), joincore.MapColumns(fn.Filter, f.ref)
		own.Functions = append(own.Functions, fn)
	}
	return own
}

// plan returns the plan that members execute to get some columns of the plan. It is checked
// once for all of them.
func (f *fragment) plan(output []joincore.ColumnRef) (*joincore.Checked, error) {
	p := &joincore.Plan{Root: f.root, Output: f.refs(output), Parameters: f.x.plan.Parameters, Algorithm: f.x.plan.Algorithm}
	for _, t := range f.tables {
		p.Inputs = append(p.Inputs, joincore.Input{
			Columns: t.columns(), Rows: float64(t.rows()) / float64(f.x.members()), Derived: t.derived,
		})
	}
	return joincore.Check(p)
}

// busy returns the members that have something to do: those with rows, and at least one. One
// without rows of its own joins rows of others.
func (f *fragment) busy() []int {
	var list []int
	for m := range f.x.members() {
		if f.copartitions || f.meets != nil || slices.ContainsFunc(f.tables, func(t *table) bool { return !t.same && t.parts[m].Rows() > 0 }) {
			list = append(list, m)
		}
	}
	if len(list) == 0 {
		return []int{0}
	}
	return list
}

// free frees the tables.
func (f *fragment) free() {
	for _, t := range f.tables {
		t.free()
	}
}
