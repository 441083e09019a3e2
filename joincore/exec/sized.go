package exec

import (
	"cmp"
	"maps"
	"slices"

	"gpujoin/joincore"
	"gpujoin/joincore/costmodel"
	"gpujoin/joincore/device"
)

// sized is a plan with the rows of its nodes, as far as they are known: from inputs for scans,
// from the planner for joins and aggregates.
type sized struct {
	plan   *joincore.Checked
	schema joincore.Schema
	rows   map[joincore.Node]int64
}

// newSized visits each node once. join returns the planner's estimate of a join, scan the rows
// of an input, and passing those of an input that pass a filter. Without passing, all do.
func newSized(plan *joincore.Checked, join func(*joincore.Join) float64, scan func(input int) int64, passing func(*joincore.Filter, *joincore.Scan) int64) *sized {
	rows := map[joincore.Node]int64{}
	for n := range joincore.Nodes(plan.Root) {
		switch n := n.(type) {
		case *joincore.Scan:
			rows[n] = scan(n.Input)
		case *joincore.Filter:
			rows[n] = rows[n.Child]
			if scan, ok := n.Child.(*joincore.Scan); ok && passing != nil {
				rows[n] = min(rows[n], passing(n, scan))
			}
		case *joincore.Join:
			rows[n] = max(rows[n.Left], rows[n.Right])
			if estimate := clampRows(join(n)); estimate > 0 {
				rows[n] = estimate
			}
		case *joincore.Aggregate:
			rows[n] = rows[n.Child]
			if estimate := clampRows(n.Rows); estimate > 0 {
				rows[n] = min(rows[n], estimate)
			}
			if len(n.Keys) == 0 {
				rows[n] = 1
			}
		}
	}
	return &sized{plan, plan.Schema(), rows}
}

// planned is the planner's estimate of a join.
func planned(n *joincore.Join) float64 { return n.Rows }

// hasJoin reports whether the rows of a node are made by a join, of several inputs.
func hasJoin(n joincore.Node) bool { return len(joincore.Sources(n)) > 1 }

// buildLeft reports whether the left side of a join is built.
func (p *sized) buildLeft(n *joincore.Join) bool {
	return costmodel.Join{
		LeftRows: p.rows[n.Left], RightRows: p.rows[n.Right], LeftPipelined: hasJoin(n.Left), RightPipelined: hasJoin(n.Right),
	}.BuildLeft()
}

// side is one side of a join.
type side struct {
	node   joincore.Node
	rows   int64
	read   int64 // before a filter of its input
	inputs []int
	key    *device.Key
	needed columns // by the join and above it
}

// sidesOf describes the sides of a join. needed are the columns that are read above it.
func (p *sized) sidesOf(n *joincore.Join, needed columns, buildLeft bool) (build, probe *side) {
	leftKey, rightKey := device.Keys(n.Keys, p.schema.Column)
	of := func(child joincore.Node, key *device.Key) *side {
		s := &side{child, p.rows[child], p.unfiltered(child), joincore.Sources(child), key, needed.with(joincore.Columns(n.Residual)...)}
		if !key.Exact { // equal hashes have to be verified
			s.needed.add(key.Columns()...)
		}
		return s
	}
	left, right := of(n.Left, leftKey), of(n.Right, rightKey)
	if buildLeft {
		return left, right
	}
	return right, left
}

// unfiltered returns the rows of a node before a filter. They are what reading costs, to which
// that of clearing an array for lookups is compared.
func (p *sized) unfiltered(n joincore.Node) int64 {
	if f, ok := n.(*joincore.Filter); ok {
		return p.unfiltered(f.Child)
	}
	return p.rows[n]
}

// withKey returns the columns that are read of the rows of the side.
func (s *side) withKey() columns { return s.needed.with(s.key.Columns()...) }

func inputsNeeded(s *side) []int { return inputsOf(s.needed.of(s.inputs)) }

// carried divides the needed columns of the side into those that move with its key and the
// inputs of the others.
func (s *side) carried(moves func(joincore.ColumnRef) bool) (carried []joincore.ColumnRef, inputs []int) {
	return device.Keep{Columns: s.needed.of(s.inputs)}.Carried(moves)
}

// columns is a set of columns that operators above still need.
type columns map[joincore.ColumnRef]bool

func newColumns(refs []joincore.ColumnRef) columns {
	c := columns{}
	c.add(refs...)
	return c
}

// with returns the set with more columns.
func (c columns) with(refs ...joincore.ColumnRef) columns {
	out := maps.Clone(c)
	out.add(refs...)
	return out
}

// add adds columns to the set itself.
func (c columns) add(refs ...joincore.ColumnRef) {
	for _, r := range refs {
		c[r] = true
	}
}

// of returns the columns of some inputs, in a stable order.
func (c columns) of(inputs []int) []joincore.ColumnRef {
	var out []joincore.ColumnRef
	for r := range c {
		if slices.Contains(inputs, r.Input) {
			out = append(out, r)
		}
	}
	slices.SortFunc(out, func(a, b joincore.ColumnRef) int { return cmp.Or(a.Input-b.Input, a.Column-b.Column) })
	return out
}

// inputsOf returns the inputs that the columns belong to, each once.
func inputsOf(refs []joincore.ColumnRef) []int {
	var out []int
	for _, r := range refs {
		if !slices.Contains(out, r.Input) {
			out = append(out, r.Input)
		}
	}
	return out
}
