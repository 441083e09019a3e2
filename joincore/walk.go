package joincore

import "iter"

// Nodes returns the operators of a tree in post-order, a join's left side first.
func Nodes(root Node) iter.Seq[Node] {
	return func(yield func(Node) bool) { walkNodes(root, yield) }
}

func walkNodes(n Node, yield func(Node) bool) bool {
	switch n := n.(type) {
	case *Filter:
		if !walkNodes(n.Child, yield) {
			return false
		}
	case *Join:
		if !walkNodes(n.Left, yield) || !walkNodes(n.Right, yield) {
			return false
		}
	case *Aggregate:
		if !walkNodes(n.Child, yield) {
			return false
		}
	}
	return yield(n)
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
