package multi

import "gpujoin/joincore"

// aggregate returns a fragment whose rows are the groups of an aggregate.
func (x *coordinator) aggregate(n *joincore.Aggregate) (*fragment, error) {
	if mergeable(n) && (x.p.group == nil || x.reduces(n)) {
		f, err := x.fragment(n.Child, columns(nil).with(joincore.AggregateColumns(n)...))
		if err != nil {
			return nil, err
		}
		f.root = f.group(f.aggregate(n), f.root, grouping{of: n, partial: true})
		return x.merged(n, f)
	}
	return x.grouped(n)
}

// mergeable reports whether the groups of parts of the rows can be merged: not distinct
// values, nor sums of squares, whose 32 bytes are no integers, nor sums of floats, which
// would be rounded twice.
func mergeable(n *joincore.Aggregate) bool {
	for _, f := range n.Functions {
		if f.Distinct || f.Kind >= joincore.SumOfSquares {
			return false
		}
	}
	return true
}

// reduces reports whether groups of parts of the rows are expected to be fewer than the
// rows, so that it costs less to exchange them.
func (x *coordinator) reduces(n *joincore.Aggregate) bool {
	if len(n.Keys) == 0 {
		return true
	}
	rows := int64(0)
	for i, r := range x.inputs {
		if joincore.Scans(n.Child, i) {
			rows = max(rows, r.Rows())
		}
	}
	return n.Rows*float64(x.members()) <= float64(rows)/2
}

// grouped exchanges rows by the columns among the keys, and groups them after that. If
// all keys are computed, one member groups all rows.
func (x *coordinator) grouped(n *joincore.Aggregate) (*fragment, error) {
	need := columns(nil).with(joincore.AggregateColumns(n)...)
	var key []joincore.ColumnRef
	for _, k := range n.Keys {
		if ref, ok := k.(joincore.ColumnRef); ok {
			key = append(key, ref)
		}
	}
	t, err := x.stored(n.Child, need)
	if err != nil {
		return nil, err
	}
	if t, err = t.gather(key, need); err != nil {
		return nil, err
	}
	f := x.over([]*table{t})
	f.once = len(n.Keys) == 0
	f.root = f.group(f.aggregate(n), f.root, grouping{of: n})
	return f, nil
}

// merged executes a fragment that groups each member's rows, exchanges the groups, and
// merges those of the same key. Without a group, the first member merges all.
func (x *coordinator) merged(n *joincore.Aggregate, partial *fragment) (*fragment, error) {
	all := make(columns, len(n.Keys)+len(n.Carry)+len(n.Functions))
	for i := range all {
		all[i] = joincore.ColumnRef{Input: n.ID, Column: i}
	}
	t, err := partial.collect(all, nil)
	if err != nil {
		return nil, err
	}
	if x.p.group == nil {
		t.first()
	} else if t, err = t.gather(all[:len(n.Keys)], all); err != nil {
		return nil, err
	}
	f := x.over([]*table{t})
	own := &joincore.Aggregate{Carry: f.refs(all[len(n.Keys) : len(n.Keys)+len(n.Carry)])}
	for _, c := range f.refs(all[:len(n.Keys)]) {
		own.Keys = append(own.Keys, c)
	}
	var counts []int
	for i, fn := range n.Functions {
		at := len(n.Keys) + len(n.Carry) + i
		kind := fn.Kind
		if kind == joincore.Count {
			kind, counts = joincore.Sum, append(counts, at)
		}
		own.Functions = append(own.Functions, joincore.Function{Kind: kind, Arg: f.ref(all[at])})
	}
	f.once = len(n.Keys) == 0
	f.root = f.group(own, f.root, grouping{of: n, merges: true})
	groups, err := f.collect(all, counts)
	if err != nil {
		return nil, err
	}
	return x.over([]*table{groups}), nil
}
