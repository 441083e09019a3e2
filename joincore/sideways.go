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
// in which target is no value of source, which is on its side by. Its time grows with the
// keys of the plan: a job may have tens of thousands.
func (j *Join) filters(from, by Node, left bool, source, target ColumnRef) bool {
	if !passesRows(from, target.Input) || !returns(by, source.Input) {
		return false
	}
	same := closure(from, target, followers)
	within := closure(by, source, subsets)
	for _, k := range j.Keys {
		key, other := k.Left, k.Right
		if !left {
			key, other = other, key
		}
		if same[key] && within[other] {
			return true
		}
	}
	return false
}

// returns reports whether the rows of n have columns of the input.
func returns(n Node, input int) bool {
	switch n := n.(type) {
	case *Scan:
		return n.Input == input
	case *Filter:
		return returns(n.Child, input)
	case *Aggregate:
		return n.ID == input
	case *Join:
		return returns(n.Left, input) || returns(n.Right, input)
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
	leads := map[ColumnRef][]ColumnRef{}
	collectKeys(n, next, leads)
	reached, todo := map[ColumnRef]bool{c: true}, []ColumnRef{c}
	for len(todo) > 0 {
		from := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for _, to := range leads[from] {
			if !reached[to] {
				reached[to] = true
				todo = append(todo, to)
			}
		}
	}
	return reached
}

// collectKeys adds to which columns each column leads.
func collectKeys(n Node, next func(Kind) (toRight, toLeft bool), leads map[ColumnRef][]ColumnRef) {
	switch n := n.(type) {
	case *Filter:
		collectKeys(n.Child, next, leads)
	case *Join:
		collectKeys(n.Left, next, leads)
		collectKeys(n.Right, next, leads)
		toRight, toLeft := next(n.Kind)
		for _, k := range n.Keys {
			if toRight {
				leads[k.Left] = append(leads[k.Left], k.Right)
			}
			if toLeft {
				leads[k.Right] = append(leads[k.Right], k.Left)
			}
		}
	}
}

// followers leads to columns that are NULL or have the same value in a row of the
// join.
func followers(k Kind) (toRight, toLeft bool) {
	return k == Inner || k == Left, k == Inner || k == Right
}

// subsets leads to columns whose values in rows of the join, other than NULL, all occur
// in the column. So it follows a key against the direction in which values are kept.
func subsets(k Kind) (toRight, toLeft bool) {
	return k == Inner || k == Left, k == Inner || k == Semi || k == Right
}
