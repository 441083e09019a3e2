package multi

import (
	"fmt"
	"slices"

	"gpujoin/joincore"
	"gpujoin/joincore/costmodel"
	"gpujoin/joincore/device"
)

// team is a provider whose executions meet those on other devices at a join, in the memory of
// these devices.
type team interface {
	device.Provider
	// Meets returns why executions on the providers cannot meet at a join, or nil. ErrUnsupported:
	// they do not join such rows, or do not reach each other; ErrBudget: they have too little memory.
	Meets(members []device.Provider, x *device.Exchange) error
	// Team returns, for an execution on each of the providers, what it gets as
	// device.Common.Team. Each of them comes to the join once, also if it has no rows: with all
	// of its rows of both sides, or of the build side if the devices make one table.
	Team(members []device.Provider, x *device.Exchange) []any
}

// staging is a team whose rows may pass through the memory of the host.
type staging interface {
	// Staged returns why rows that executions on the providers exchange do so, or "".
	Staged(members []device.Provider) string
}

// Meeting returns the inputs whose rows members divide if they meet at a join of a plan, by
// costmodel.Exchange, Spread or Hybrid, or why they cannot do that.
func Meeting(members []device.Provider, how costmodel.Strategy, plan *joincore.Checked, inputs []*joincore.Relation) (divided [2]int, err error) {
	j, err := findMeeting(members, how, plan, inputs)
	if err != nil {
		return divided, err
	}
	return j.inputs, nil
}

// notMet says that devices do not meet by a strategy.
func notMet(how costmodel.Strategy) string {
	if how.OneTable() {
		return "devices make no table together"
	}
	return "devices exchange no rows"
}

// meetingJoin is the join of a plan at which members meet.
type meetingJoin struct {
	of      *joincore.Join
	how     costmodel.Strategy
	inputs  [2]int   // of its sides, as the plan numbers them
	columns [2][]int // of these inputs: those that the join or a later step reads
	byID    [2][]int // those that devices fetch by row id after the join
}

// findMeeting returns the join of a plan at which members can meet: of several, the one of the
// largest inputs.
func findMeeting(members []device.Provider, how costmodel.Strategy, plan *joincore.Checked, inputs []*joincore.Relation) (*meetingJoin, error) {
	p, ok := members[0].(team)
	if !ok {
		return nil, fmt.Errorf("%s: %w", notMet(how), joincore.ErrUnsupported)
	}
	best, most := (*meetingJoin)(nil), int64(-1)
	failed := fmt.Errorf("no inner join of two inputs by integers of at most 8 bytes can be divided among devices: %w", joincore.ErrUnsupported)
	for _, n := range meetable(belowGroups(plan.Root, max(len(members), how.Fewest())), plan.Schema()) {
		j := newMeetingJoin(n, how, plan)
		if err := p.Meets(members, j.describe(inputs, func(input int) int { return input })); err != nil {
			failed = err
			continue
		}
		if bytes := Bytes(inputs[j.inputs[0]]) + Bytes(inputs[j.inputs[1]]); bytes > most {
			best, most = j, bytes
		}
	}
	if best == nil {
		return nil, failed
	}
	return best, nil
}

// belowGroups returns the node below the filters and aggregates at the top of a plan; nil if several members
// make groups that cannot be merged.
func belowGroups(n joincore.Node, members int) joincore.Node {
	if members > 1 {
		return ungrouped(n)
	}
	switch n := n.(type) {
	case *joincore.Filter:
		return belowGroups(n.Child, members)
	case *joincore.Aggregate:
		return belowGroups(n.Child, members)
	}
	return n
}

// meetable lists the inner joins of two inputs, filtered or not, whose rows members may divide while
// each of them reads all other inputs whole. Their keys fit 8 bytes.
func meetable(n joincore.Node, schema joincore.Schema) (list []*joincore.Join) {
	switch n := n.(type) {
	case *joincore.Filter:
		return meetable(n.Child, schema)
	case *joincore.Join:
		left, isLeft := scanned(n.Left)
		right, isRight := scanned(n.Right)
		if isLeft && isRight {
			key, _ := device.Keys(n.Keys, schema.Column)
			if n.Kind == joincore.Inner && n.Residual == nil && len(n.Keys) > 0 && key.Exact && left != right {
				return []*joincore.Join{n}
			}
			return nil
		}
		if copyRight(n.Kind) {
			list = append(list, meetable(n.Left, schema)...)
		}
		if copyLeft(n.Kind) {
			list = append(list, meetable(n.Right, schema)...)
		}
	}
	return list
}

// scanned returns the input whose rows, filtered or not, are those of a node.
func scanned(n joincore.Node) (input int, ok bool) {
	switch n := n.(type) {
	case *joincore.Scan:
		return n.Input, true
	case *joincore.Filter:
		return scanned(n.Child)
	}
	return 0, false
}

func newMeetingJoin(n *joincore.Join, how costmodel.Strategy, plan *joincore.Checked) *meetingJoin {
	j := &meetingJoin{of: n, how: how}
	j.inputs[0], _ = scanned(n.Left)
	j.inputs[1], _ = scanned(n.Right)
	read, fetched := readAbove(plan, n), fetchedAbove(plan)
	for side, input := range j.inputs {
		j.columns[side], j.byID[side] = read.of(input), fetched.of(input)
	}
	return j
}

// of returns the columns of an input.
func (c columns) of(input int) (list []int) {
	for _, ref := range c {
		if ref.Input == input {
			list = append(list, ref.Column)
		}
	}
	return list
}

// readAbove returns the columns that a join, a step above it or the plan's result reads, each once. Of
// columns that an aggregate carries these are the ones that the host fetches.
func readAbove(plan *joincore.Checked, join *joincore.Join) columns {
	read := columns(nil).with(plan.Output...)
	for n := range joincore.Nodes(plan.Root) {
		switch n := n.(type) {
		case *joincore.Filter:
			if !below(join, n) {
				read = read.with(joincore.Columns(n.Predicate)...)
			}
		case *joincore.Join:
			read = read.with(joincore.Columns(n.Residual)...)
			for _, k := range n.Keys {
				read = read.with(k.Left, k.Right)
			}
		case *joincore.Aggregate:
			own := *n
			own.Carry = slices.DeleteFunc(slices.Clone(n.Carry), func(c joincore.ColumnRef) bool { return plan.Schema().Column(c).Movable() })
			read = read.with(joincore.AggregateColumns(&own)...)
		}
	}
	return read
}

// fetchedAbove returns the columns that devices fetch by row id after a join, each once: keys that do not
// move with rows, and those columns that an aggregate carries and that the host does not fetch.
func fetchedAbove(plan *joincore.Checked) (fetched columns) {
	movable := func(c joincore.ColumnRef) bool { return plan.Schema().Column(c).Movable() }
	for n := range joincore.Nodes(plan.Root) {
		switch n := n.(type) {
		case *joincore.Join:
			for _, k := range n.Keys {
				for _, c := range []joincore.ColumnRef{k.Left, k.Right} {
					if !movable(c) {
						fetched = fetched.with(c)
					}
				}
			}
		case *joincore.Aggregate:
			for _, c := range n.Carry {
				if movable(c) {
					fetched = fetched.with(c)
				}
			}
		}
	}
	return fetched
}

// below reports whether a node is below a join.
func below(join *joincore.Join, n joincore.Node) bool {
	for _, side := range []joincore.Node{join.Left, join.Right} {
		for m := range joincore.Nodes(side) {
			if m == n {
				return true
			}
		}
	}
	return false
}

// buildLeft says which input is the build side of a join of two that members divide.
func buildLeft(left, right *joincore.Relation) bool {
	return costmodel.Join{LeftRows: left.Rows(), RightRows: right.Rows()}.BuildLeft()
}

// mostResult bounds the rows that a join is expected to have, so that their bytes fit 63 bits.
const mostResult = 1 << 48

// describe describes the join to the devices, which number an input of the plan as number says.
func (j *meetingJoin) describe(inputs []*joincore.Relation, number func(input int) int) *device.Exchange {
	x := &device.Exchange{Spread: j.how.OneTable(), Hosted: j.how == costmodel.Hybrid, Columns: j.columns, ByID: j.byID, Result: int64(min(max(j.of.Rows, 0), mostResult))}
	if !buildLeft(inputs[j.inputs[0]], inputs[j.inputs[1]]) {
		x.Build = 1
	}
	for side, input := range j.inputs {
		x.Inputs[side], x.Rows[side] = number(input), inputs[input]
	}
	for i, r := range inputs {
		if !slices.Contains(j.inputs[:], i) {
			x.Whole = append(x.Whole, r)
		}
	}
	return x
}
