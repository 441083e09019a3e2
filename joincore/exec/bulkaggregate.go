package exec

import (
	"slices"

	"gpujoin/joincore"
	"gpujoin/joincore/device"
)

// aggregate groups the rows of its child and returns the groups. Filters right below it
// are part of the step: their rows are never stored. The groups stay until an aggregate
// above has read them, or until the end: columns of theirs may be fetched by row number.
func (b *bulk) aggregate(n *joincore.Aggregate) (device.Space, error) {
	child, where := unfiltered(n.Child)
	groups, err := b.dev.Aggregate(b.ctx, b.aggregateSpec(n), where)
	if err != nil {
		return nil, err
	}
	defer groups.Release()
	defer func() { b.groups[slices.Index(b.aggregates, n)] = groups.Report() }()
	// Carried columns are fetched by row number at the end.
	own := *n
	own.Carry = nil
	read := newColumns(joincore.AggregateColumns(&own)).with(joincore.Columns(where)...)
	err = b.node(child, wanted{all: read, soon: read, numbered: inputsOf(n.Carry)}, b.guarded(func(s device.Space) error {
		return groups.Add(b.ctx, s)
	}))
	if err != nil {
		return nil, err
	}
	space, err := groups.Space(b.ctx)
	if err != nil {
		return nil, err
	}
	b.releaseGroups(n.Child)
	rows, err := b.dev.Rows(space).Wait(b.ctx)
	if err != nil {
		space.Release()
		return nil, err
	}
	b.spaces[n.ID], b.rows[n] = space, rows
	return space, nil
}

// releaseGroups releases the groups of the aggregates of a tree.
func (b *bulk) releaseGroups(n joincore.Node) {
	for _, a := range slices.Backward(joincore.Aggregates(n)) {
		if s := b.spaces[a.ID]; s != nil {
			s.Release()
			b.spaces[a.ID] = nil
		}
	}
}

// unfiltered returns what filters on top of a node take, and all of their conditions in
// the order in which they are evaluated; nil: there are none.
func unfiltered(n joincore.Node) (joincore.Node, joincore.Expr) {
	var all []joincore.Expr
	for {
		f, ok := n.(*joincore.Filter)
		if !ok {
			break
		}
		all = append(all, f.Predicate)
		n = f.Child
	}
	slices.Reverse(all)
	switch len(all) {
	case 0:
		return n, nil
	case 1:
		return n, all[0]
	}
	return n, &joincore.And{Args: all}
}
