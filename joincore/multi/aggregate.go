package multi

import "gpujoin/joincore"

// aggregate returns a fragment whose rows are the groups of an aggregate: each member groups its own rows,
// and the first one merges the groups of the same key.
func (x *coordinator) aggregate(n *joincore.Aggregate) (*fragment, error) {
	f, err := x.fragment(n.Child)
	if err != nil {
		return nil, err
	}
	f.root = f.group(f.aggregate(n), f.root, grouping{of: n})
	return x.merged(n, f)
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

// merged executes a fragment that groups each member's rows, and has the first member merge the groups
// of the same key.
func (x *coordinator) merged(n *joincore.Aggregate, partial *fragment) (*fragment, error) {
	all := make(columns, len(n.Keys)+len(n.Carry)+len(n.Functions))
	for i := range all {
		all[i] = joincore.ColumnRef{Input: n.ID, Column: i}
	}
	t, err := partial.collect(all, nil)
	if err != nil {
		return nil, err
	}
	t.first()
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
	f.root = f.group(own, f.root, grouping{of: n, merges: true})
	groups, err := f.collect(all, counts)
	if err != nil {
		return nil, err
	}
	return x.over([]*table{groups}), nil
}
