package program

import (
	"math"

	"gpujoin/joincore"
)

// size is about how many nodes a value has.
func size(v joincore.Value) int {
	n := 1
	switch v := v.(type) {
	case *joincore.Arithmetic:
		n += size(v.Left) + size(v.Right)
	case *joincore.Case:
		for _, w := range v.Whens {
			n += sizeOf(w.Condition) + size(w.Then)
		}
		n += size(v.Else)
	case *joincore.Coalesce:
		for _, a := range v.Args {
			n += size(a)
		}
	case *joincore.DatePart:
		n += size(v.Arg)
	case *joincore.Truth:
		n += sizeOf(v.Arg)
	}
	return min(n, math.MaxInt32)
}

func sizeOf(e joincore.Expr) int {
	n := 1
	switch e := e.(type) {
	case *joincore.And:
		for _, a := range e.Args {
			n += sizeOf(a)
		}
	case *joincore.Or:
		for _, a := range e.Args {
			n += sizeOf(a)
		}
	case *joincore.Not:
		n += sizeOf(e.Arg)
	case *joincore.IsNull:
		n += size(e.Arg)
	case *joincore.Compare:
		n += size(e.Left) + size(e.Right)
	case *joincore.In:
		n += size(e.Arg)
	}
	return min(n, math.MaxInt32)
}
