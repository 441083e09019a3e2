package joincore

import "slices"

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
	for _, j := range Joins(root) {
		left, right := droppable(j.Kind)
		if left && j.filters(j.Left, j.Right, true, source, target) || right && j.filters(j.Right, j.Left, false, source, target) {
			return true
		}
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
	if !passesRows(from, target.Input) || !slices.Contains(Sources(by), source.Input) {
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
// of n's rows. next says in which directions a key of a join of this kind leads.
func closure(n Node, c ColumnRef, next func(Kind) (toRight, toLeft bool)) map[ColumnRef]bool {
	leads := map[ColumnRef][]ColumnRef{}
	for n := range Block(n) {
		j, ok := n.(*Join)
		if !ok {
			continue
		}
		toRight, toLeft := next(j.Kind)
		for _, k := range j.Keys {
			if toRight {
				leads[k.Left] = append(leads[k.Left], k.Right)
			}
			if toLeft {
				leads[k.Right] = append(leads[k.Right], k.Left)
			}
		}
	}
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
