package joincore

import "iter"

// Nodes returns the operators of a tree in post-order, a join's left side first.
func Nodes(root Node) iter.Seq[Node] {
	return func(yield func(Node) bool) { walkNodes(root, true, yield) }
}

// Block returns the operators of a tree that are not below one of its aggregates, in
// post-order: those that pass the rows of inputs and of aggregates on.
func Block(root Node) iter.Seq[Node] {
	return func(yield func(Node) bool) { walkNodes(root, false, yield) }
}

func walkNodes(n Node, all bool, yield func(Node) bool) bool {
	switch n := n.(type) {
	case *Filter:
		if !walkNodes(n.Child, all, yield) {
			return false
		}
	case *Join:
		if !walkNodes(n.Left, all, yield) || !walkNodes(n.Right, all, yield) {
			return false
		}
	case *Aggregate:
		if all && !walkNodes(n.Child, all, yield) {
			return false
		}
	}
	return yield(n)
}

// Sources returns the inputs of which the rows of a node are made: base inputs, and the
// derived ones of aggregates.
func Sources(root Node) (inputs []int) {
	for n := range Block(root) {
		switch n := n.(type) {
		case *Scan:
			inputs = append(inputs, n.Input)
		case *Aggregate:
			inputs = append(inputs, n.ID)
		}
	}
	return inputs
}

// Scans reports whether a base input is scanned in a tree, below aggregates too.
func Scans(root Node, input int) bool {
	for n := range Nodes(root) {
		if s, ok := n.(*Scan); ok && s.Input == input {
			return true
		}
	}
	return false
}

// Joins returns the joins of a tree in post-order.
func Joins(root Node) []*Join { return nodesOf[*Join](root) }

// Aggregates returns the aggregates of a tree in post-order.
func Aggregates(root Node) []*Aggregate { return nodesOf[*Aggregate](root) }

func nodesOf[T Node](root Node) (all []T) {
	for n := range Nodes(root) {
		if n, ok := n.(T); ok {
			all = append(all, n)
		}
	}
	return all
}

// Terms returns a condition or a value and everything inside it, the whole before its
// parts: each is an Expr or a Value. A nil condition or value has no terms.
func Terms(term any) iter.Seq[any] {
	return func(yield func(any) bool) { walkTerms(term, yield) }
}

func walkTerms(term any, yield func(any) bool) bool {
	if term == nil {
		return true
	}
	if !yield(term) {
		return false
	}
	inside := func(parts ...any) bool {
		for _, p := range parts {
			if !walkTerms(p, yield) {
				return false
			}
		}
		return true
	}
	switch t := term.(type) {
	case *And:
		return allTerms(t.Args, yield)
	case *Or:
		return allTerms(t.Args, yield)
	case *Not:
		return inside(t.Arg)
	case *Compare:
		return inside(t.Left, t.Right)
	case *IsNull:
		return inside(t.Arg)
	case *In:
		return inside(t.Arg)
	case *Like:
		return inside(t.Arg)
	case *Arithmetic:
		return inside(t.Left, t.Right)
	case *Case:
		for _, w := range t.Whens {
			if !inside(w.Condition, w.Then) {
				return false
			}
		}
		return inside(t.Else)
	case *Coalesce:
		return allTerms(t.Args, yield)
	case *DatePart:
		return inside(t.Arg)
	case *Substring:
		return inside(t.Arg)
	case *Truth:
		return inside(t.Arg)
	}
	return true
}

func allTerms[T any](list []T, yield func(any) bool) bool {
	for _, t := range list {
		if !walkTerms(t, yield) {
			return false
		}
	}
	return true
}
