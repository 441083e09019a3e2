package joincore

import (
	"fmt"
	"iter"
)

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
	all := true
	mapParts(term, func(part any) any {
		all = all && walkTerms(part, yield)
		return part
	})
	return all
}

// CanFailLate says whether a plan with this root may end with ErrArithmetic
// after it has returned rows. An aggregate evaluates all that is below it before
// its first row.
func CanFailLate(root Node) bool {
	for n := range Block(root) {
		switch n := n.(type) {
		case *Filter:
			if CanFail(n.Predicate) {
				return true
			}
		case *Join:
			if CanFail(n.Residual) {
				return true
			}
		}
	}
	return false
}

// CanFail says whether evaluating a condition or a value may end with ErrArithmetic;
// nil cannot.
func CanFail(term any) bool {
	for t := range Terms(term) {
		switch t.(type) {
		case Decimal, *Arithmetic, *DatePart:
			return true
		}
	}
	return false
}

// Columns returns the columns that a condition or a value reads; of nil, none. A column
// may occur more than once.
func Columns(term any) (columns []ColumnRef) {
	for t := range Terms(term) {
		switch t := t.(type) {
		case ColumnRef:
			columns = append(columns, t)
		case Decimal:
			columns = append(columns, t.Column)
		}
	}
	return columns
}

// MapColumns returns a condition or a value that reads other columns: those that to
// returns for its own.
func MapColumns[T any](term T, to func(ColumnRef) ColumnRef) T {
	return Map(term, func(t any) any {
		switch t := t.(type) {
		case ColumnRef:
			return to(t)
		case Decimal:
			return Decimal{to(t.Column)}
		}
		return nil
	})
}

// Map returns a condition or a value, an Expr or a Value, with parts of it replaced; nil
// stays nil. It asks replace about each term, the whole before its parts. Where that
// returns nil, the term is copied and its parts are mapped.
func Map[T any](term T, replace func(term any) any) T {
	if any(term) == nil {
		return term
	}
	if r := replace(term); r != nil {
		return r.(T)
	}
	return mapParts(term, replace).(T)
}

func mapParts(term any, replace func(term any) any) any {
	switch t := term.(type) {
	case *And:
		return &And{mapAll(t.Args, replace)}
	case *Or:
		return &Or{mapAll(t.Args, replace)}
	case *Not:
		return &Not{Map(t.Arg, replace)}
	case *Compare:
		return &Compare{t.Op, Map(t.Left, replace), Map(t.Right, replace)}
	case *IsNull:
		return &IsNull{Map(t.Arg, replace)}
	case *In:
		c := *t
		c.Arg = Map(t.Arg, replace)
		return &c
	case *Like:
		c := *t
		c.Arg = Map(t.Arg, replace)
		return &c
	case *Arithmetic:
		return &Arithmetic{t.Op, t.Width, Map(t.Left, replace), Map(t.Right, replace)}
	case *Case:
		c := &Case{}
		for _, w := range t.Whens {
			c.Whens = append(c.Whens, When{Map(w.Condition, replace), Map(w.Then, replace)})
		}
		c.Else = Map(t.Else, replace)
		return c
	case *Coalesce:
		return &Coalesce{mapAll(t.Args, replace)}
	case *DatePart:
		return &DatePart{t.Part, Map(t.Arg, replace)}
	case *Substring:
		c := *t
		c.Arg = Map(t.Arg, replace)
		return &c
	case *Truth:
		return &Truth{Map(t.Arg, replace)}
	case ColumnRef, Decimal, Int, ParameterIndex, Null, *Text:
		return term
	}
	panic(fmt.Sprintf("a term of type %T", term))
}

func mapAll[T any](list []T, replace func(term any) any) []T {
	out := make([]T, len(list))
	for i, t := range list {
		out[i] = Map(t, replace)
	}
	return out
}
