package multi

import (
	"slices"

	"gpujoin/joincore"
	"gpujoin/joincore/costmodel"
	"gpujoin/joincore/device"
)

// arrange decides which inputs the members divide, or partition together. It returns why they
// cannot execute the plan by the provider's strategy, or "".
func (x *coordinator) arrange() string {
	p := x.p
	if len(p.members) < p.how.Fewest() {
		return "there is one device"
	}
	if p.how.Meets() {
		j, err := findMeeting(p.members, p.how, x.plan, x.inputs)
		if err != nil {
			return err.Error()
		}
		x.meeting, x.divided = j, j.inputs[:]
		x.stats.Strategy = p.how.String()
		return ""
	}
	if x.sharedJoin = p.sharedJoin(x.plan, x.inputs); x.sharedJoin != nil {
		x.stats.Strategy = costmodel.Divide.String()
		return ""
	}
	input, ok := Divide(x.plan, x.inputs)
	if !ok || p.how == costmodel.Divide {
		return "the plan cannot be divided among devices"
	}
	x.divided = []int{input}
	x.stats.Strategy = costmodel.Replicate.String()
	return ""
}

// replicated returns the fragment of scans, filters and joins in which the members divide
// one input and read all others whole, divide the two inputs of the join at which they meet, or
// partition both of two inputs together.
func (x *coordinator) replicated(n joincore.Node) *fragment {
	var tables []*table
	own := map[int]int{} // of inputs of the plan
	for i := range x.inputs {
		if !joincore.Scans(n, i) {
			continue
		}
		own[i] = len(tables)
		if slices.Contains(x.divided, i) {
			tables = append(tables, x.scan(i))
		} else {
			tables = append(tables, x.copied(i))
		}
	}
	f := x.over(tables)
	f.copartitions = x.sharedJoin != nil
	if x.meeting != nil {
		f.meets = x.meeting.describe(x.inputs, func(input int) int { return own[input] })
	}
	f.root = f.tree(n, own)
	return f
}

// tree returns a node of the plan over the fragment's columns. own has the fragment's input
// for one of the plan. All members have the groups of an aggregate in common.
func (f *fragment) tree(n joincore.Node, own map[int]int) joincore.Node {
	switch n := n.(type) {
	case *joincore.Scan:
		return &joincore.Scan{Input: own[n.Input]}
	case *joincore.Filter:
		child := f.tree(n.Child, own)
		return &joincore.Filter{Child: child, Predicate: joincore.MapColumns(n.Predicate, f.ref)}
	case *joincore.Join:
		left, right := f.tree(n.Left, own), f.tree(n.Right, own)
		return f.replicatedJoin(n, f.join(n, left, right))
	default:
		a := n.(*joincore.Aggregate)
		child := f.tree(a.Child, own)
		return f.group(f.aggregate(a), child, grouping{of: a, same: true})
	}
}

// replicatedJoin has the side that all members have in common built, so that it is uploaded
// once for all of them and each probes with its own rows. Where members have rows of both sides,
// all of them build the same one.
func (f *fragment) replicatedJoin(n, own *joincore.Join) joincore.Node {
	x := f.x
	j := fragmentJoin{of: n, same: [2]bool{!x.divides(n.Left), !x.divides(n.Right)}}
	switch {
	case f.copartitions || x.meeting != nil && n == x.meeting.of:
		own.Rows /= float64(x.members())
		j.same = [2]bool{}
		left, _ := scanned(n.Left)
		right, _ := scanned(n.Right)
		j.decided, j.decision = true, costmodel.Decision{BuildLeft: buildLeft(x.inputs[left], x.inputs[right]), Algorithm: x.plan.Algorithm}
	case j.same[0] != j.same[1]:
		own.Rows /= float64(x.members())
		j.decided, j.decision = true, costmodel.Decision{BuildLeft: j.same[0], Algorithm: x.plan.Algorithm}
	}
	if x.opt.Decide != nil {
		j.decided, j.decision = true, x.opt.Decide(x.number[n], j.decision)
	}
	if x.meeting != nil && n == x.meeting.of {
		if f.meets.Build = 0; !j.decision.BuildLeft {
			f.meets.Build = 1
		}
	}
	f.joins = append(f.joins, j)
	return own
}

// sharer is a provider that uploads an input once for several executions that read it
// whole on different devices.
type sharer interface {
	device.Provider
	// Share returns, for an execution on each of the providers, what it gets as
	// device.Common.Share. inputs are those that all of them read whole.
	Share(members []device.Provider, inputs []int) []any
}

// common returns what the members have in common. busy lists those that execute the fragment.
func (f *fragment) common(busy []int) []device.Common {
	list := make([]device.Common, f.x.members())
	if f.copartitions {
		for m, c := range f.x.sharedJoin {
			list[m].Partition = c
		}
		return list
	}
	var inputs []int
	for i, t := range f.tables {
		if t.same {
			inputs = append(inputs, i)
		}
	}
	members := make([]device.Provider, len(busy))
	for i, m := range busy {
		members[i] = f.x.p.members[m]
	}
	if f.meets != nil {
		for _, m := range busy {
			f.meets.Parts = append(f.meets.Parts, [2]*joincore.Relation{f.tables[f.meets.Inputs[0]].parts[m], f.tables[f.meets.Inputs[1]].parts[m]})
		}
		for i, c := range members[0].(team).Team(members, f.meets) {
			list[busy[i]].Team = c
		}
	}
	s, ok := f.x.p.members[0].(sharer)
	if !ok || len(inputs) == 0 || len(busy) < 2 {
		return list
	}
	for i, c := range s.Share(members, inputs) {
		list[busy[i]].Share = c
	}
	return list
}
