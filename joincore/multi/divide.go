package multi

import (
	"slices"

	"gpujoin/joincore"
	"gpujoin/joincore/costmodel"
	"gpujoin/joincore/device"
)

// Divide returns the input whose rows members can divide while each of them reads all
// other inputs whole, so that no rows have to be exchanged but partial groups. Where
// there are several, it is the one with the most bytes. ok is false if there is none: a
// side that other members read as well may not return rows of its own, as in a full join,
// and groups have to be mergeable.
func Divide(plan *joincore.Checked, inputs []*joincore.Relation) (input int, ok bool) {
	most := int64(-1)
	for _, i := range dividable(ungrouped(plan.Root)) {
		if b := Bytes(inputs[i]); b > most {
			input, most = i, b
		}
	}
	return input, most >= 0
}

// ungrouped returns the node below the filters and aggregates at the top of a plan; nil if the
// groups of an aggregate cannot be merged.
func ungrouped(n joincore.Node) joincore.Node {
	switch n := n.(type) {
	case *joincore.Filter:
		return ungrouped(n.Child)
	case *joincore.Aggregate:
		if !mergeable(n) {
			return nil
		}
		return ungrouped(n.Child)
	}
	return n
}

// Bytes returns the size of a relation's columns.
func Bytes(r *joincore.Relation) int64 {
	width, heap := int64(0), int64(0)
	for _, c := range r.Columns {
		width += int64(c.Width)
	}
	for i := range r.Segments {
		for j := range r.Segments[i].Columns {
			heap += int64(len(r.Segments[i].Columns[j].Heap))
		}
	}
	return width*r.Rows() + heap
}

// dividable lists the inputs of scans, filters and joins that may be divided while all
// others are read whole.
func dividable(n joincore.Node) []int {
	switch n := n.(type) {
	case *joincore.Scan:
		return []int{n.Input}
	case *joincore.Filter:
		return dividable(n.Child)
	case *joincore.Join:
		var list []int
		if copyRight(n.Kind) {
			list = append(list, dividable(n.Left)...)
		}
		if copyLeft(n.Kind) {
			list = append(list, dividable(n.Right)...)
		}
		return list
	}
	return nil // an aggregate's groups are not divided as its rows are
}

// copyLeft and copyRight report whether several members may have the same rows of a side
// of a join. Rows that are returned once must be on one member only.
func copyLeft(k joincore.Kind) bool  { return k == joincore.Inner || k == joincore.Right }
func copyRight(k joincore.Kind) bool { return k != joincore.Right && k != joincore.Full }

// measurer is a provider that knows how much its device holds.
type measurer interface {
	device.Provider
	// Exceeds reports whether inputs of some plan are too large for one device, all together, if
	// each of them is the build side of a join: it would partition both sides by itself.
	Exceeds(builds ...*joincore.Relation) bool
}

// partitioner is a provider whose devices can join two inputs together that exceed the memory
// of each: they partition both by their keys, and each joins some of the partitions.
type partitioner interface {
	measurer
	// SharedJoin returns, for an execution on each of the providers, what it gets as
	// device.Common.Partition to do so; nil: they cannot. The executions have the same inputs
	// and the same seed, and return different rows. The plan has one join, of two inputs.
	SharedJoin(members []device.Provider) []any
}

// Holds reports whether a provider's device has memory for all inputs but the divided one, which
// it reads whole.
func Holds(p device.Provider, inputs []*joincore.Relation, divided int) bool {
	s, ok := p.(measurer)
	return !ok || !s.Exceeds(slices.Delete(slices.Clone(inputs), divided, divided+1)...)
}

// canPartition reports whether members can partition the inputs of a plan together, whatever
// their size: its rows are those of one join of two inputs.
func canPartition(p device.Provider, plan *joincore.Checked) bool {
	_, able := p.(partitioner)
	_, ok := joined(plan.Root)
	return able && ok
}

// Partitions reports whether members partition the inputs of a plan together: its rows are
// those of one join of two inputs, of which the build side exceeds a device.
func Partitions(p device.Provider, plan *joincore.Checked, inputs []*joincore.Relation) bool {
	s, ok := p.(partitioner)
	if !ok {
		return false
	}
	n, ok := joined(plan.Root)
	if !ok {
		return false
	}
	left, right := n.Left.(*joincore.Scan), n.Right.(*joincore.Scan)
	build := inputs[right.Input]
	if (costmodel.Join{LeftRows: inputs[left.Input].Rows(), RightRows: build.Rows()}).BuildLeft() {
		build = inputs[left.Input]
	}
	return s.Exceeds(build)
}

// joined returns the only join of a plan, of two different inputs, below filters and
// aggregates whose groups can be merged.
func joined(n joincore.Node) (*joincore.Join, bool) {
	j, ok := ungrouped(n).(*joincore.Join)
	if !ok || len(j.Keys) == 0 || slices.ContainsFunc(j.Keys, func(k joincore.KeyPair) bool { return k.Class == joincore.KeyVarlena }) {
		return nil, false // devices do not partition by texts
	}
	left, okLeft := j.Left.(*joincore.Scan)
	right, okRight := j.Right.(*joincore.Scan)
	return j, okLeft && okRight && left.Input != right.Input
}

// sharedJoin returns what the members get to join two inputs together, or nil if they do not:
// if each of them has memory for the build side, unless the strategy demands it.
func (p *Provider) sharedJoin(plan *joincore.Checked, inputs []*joincore.Relation) []any {
	partitions := p.how == costmodel.Divide && canPartition(p.members[0], plan)
	if p.how == costmodel.Auto {
		partitions = slices.ContainsFunc(p.members, func(m device.Provider) bool { return Partitions(m, plan, inputs) })
	}
	if !partitions {
		return nil
	}
	return p.members[0].(partitioner).SharedJoin(p.members)
}
