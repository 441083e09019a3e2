package joincore

import "fmt"

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
		c := &Case{Else: Map(t.Else, replace)}
		for _, w := range t.Whens {
			c.Whens = append(c.Whens, When{Map(w.Condition, replace), Map(w.Then, replace)})
		}
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
