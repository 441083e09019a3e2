package joincore

// CanFilter reports whether rows of the input of target may be dropped before
// the plan is executed, if target is NULL there or equals no value of source.
// Rows of both inputs may have been dropped for this reason before. The result
// of the plan is the same, because such a row has no partner in a join that
// drops rows without one.
//
// Both columns must be compared by a key, directly or by way of other columns: of
// a = b and b = c, a can filter c. Then both are integers of at most 8 bytes, or
// fixed columns of the same width, or varlena columns, and equal values of both
// have equal bytes, but for the width of integers.
func CanFilter(root Node, source, target ColumnRef) bool {
	if source.Input == target.Input {
		return false
	}
	switch n := root.(type) {
	case *Filter:
		return CanFilter(n.Child, source, target)
	case *Aggregate:
		return CanFilter(n.Child, source, target)
	case *Join:
		left, right := droppable(n.Kind)
		return left && n.filters(n.Left, n.Right, true, source, target) ||
			right && n.filters(n.Right, n.Left, false, source, target) ||
			CanFilter(n.Left, source, target) || CanFilter(n.Right, source, target)
	}
	return false
}

// droppable reports which sides of a join of this kind may lose rows that have no
// partner on the other side.
func droppable(k Kind) (left, right bool) {
	switch k {
	case Inner, Semi:
		return true, true
	case Left, Anti:
		return false, true
	case Right:
		return true, false
	}
	return false, false
}

// filters reports whether the join drops all rows of its side from, left or not,
// in which target is no value of source, which is on its side by.
func (j *Join) filters(from, by Node, left bool, source, target ColumnRef) bool {
	if !passesRows(from, target.Input) {
		return false
	}
	same := closure(from, target, followers)
	for _, k := range j.Keys {
		key, other := k.Left, k.Right
		if !left {
			key, other = other, key
		}
		if same[key] && closure(by, other, supersets)[source] {
			return true
		}
	}
	return false
}

// passesRows reports whether a row of the input only ever leads to rows of n that
// contain it. So without that row, n lacks just these.
func passesRows(n Node, input int) bool {
	switch n := n.(type) {
	case *Scan:
		return n.Input == input
	case *Filter:
		return passesRows(n.Child, input)
	case *Join:
		if n.Kind != Right && n.Kind != Full && passesRows(n.Left, input) {
			return true
		}
		return (n.Kind == Inner || n.Kind == Right) && passesRows(n.Right, input)
	}
	return false
}

// closure returns the columns that can be reached from c by the keys of the joins
// below n. next says in which directions a key of a join of this kind leads.
func closure(n Node, c ColumnRef, next func(Kind) (toRight, toLeft bool)) map[ColumnRef]bool {
	reached := map[ColumnRef]bool{c: true}
	for before := 0; before != len(reached); {
		before = len(reached)
		reach(n, next, reached)
	}
	return reached
}

func reach(n Node, next func(Kind) (toRight, toLeft bool), reached map[ColumnRef]bool) {
	switch n := n.(type) {
	case *Filter:
		reach(n.Child, next, reached)
	case *Join:
		reach(n.Left, next, reached)
		reach(n.Right, next, reached)
		toRight, toLeft := next(n.Kind)
		for _, k := range n.Keys {
			if toRight && reached[k.Left] {
				reached[k.Right] = true
			}
			if toLeft && reached[k.Right] {
				reached[k.Left] = true
			}
		}
	}
}

// followers leads to columns that are NULL or have the same value in a row of the
// join.
func followers(k Kind) (toRight, toLeft bool) {
	return k == Inner || k == Left, k == Inner || k == Right
}

// supersets leads to columns of inputs that have every value, other than NULL,
// that the column has in rows of the join.
func supersets(k Kind) (toRight, toLeft bool) {
	return k == Inner || k == Semi || k == Right, k == Inner || k == Left
}
