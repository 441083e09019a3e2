package oracle

import (
	"fmt"
	"math/big"

	"gpujoin/joincore"
)

// SQL's three truth values, ordered so that AND is the least of its arguments
// and OR the greatest.
type truth int

const (
	isFalse truth = iota
	unknown
	isTrue
)

func truthOf(b bool) truth {
	if b {
		return isTrue
	}
	return isFalse
}

// eval evaluates a condition in a tuple, arguments from left to right and no
// more of them than it needs.
func (o *oracle) eval(e joincore.Expr, t tuple) (truth, error) {
	switch e := e.(type) {
	case *joincore.And:
		result := isTrue
		for _, a := range e.Args {
			arg, err := o.eval(a, t)
			if err != nil {
				return unknown, err
			}
			if result = min(result, arg); result == isFalse {
				break
			}
		}
		return result, nil
	case *joincore.Or:
		result := isFalse
		for _, a := range e.Args {
			arg, err := o.eval(a, t)
			if err != nil {
				return unknown, err
			}
			if result = max(result, arg); result == isTrue {
				break
			}
		}
		return result, nil
	case *joincore.Not:
		arg, err := o.eval(e.Arg, t)
		return isTrue - arg, err
	case *joincore.IsNull:
		return o.isNull(e, t)
	case *joincore.Compare:
		return o.compare(e, t)
	case *joincore.In:
		return o.in(e, t)
	case *joincore.Like:
		text, err := o.value(e.Arg, t)
		if err != nil || text.null {
			return unknown, err
		}
		return truthOf(like(characters(text.bytes, e.Encoding), characters(e.Pattern, e.Encoding))), nil
	}
	return unknown, fmt.Errorf("condition %T: %w", e, joincore.ErrUnsupported)
}

// isNull does not read more of a column than its validity: the column may be
// of any type.
func (o *oracle) isNull(e *joincore.IsNull, t tuple) (truth, error) {
	if c, ok := e.Arg.(joincore.ColumnRef); ok {
		_, null := o.raw(t, c)
		return truthOf(null), nil
	}
	v, err := o.value(e.Arg, t)
	return truthOf(v.null), err
}

func (o *oracle) compare(e *joincore.Compare, t tuple) (truth, error) {
	left, err := o.value(e.Left, t)
	if err != nil {
		return unknown, err
	}
	right, err := o.value(e.Right, t)
	if err != nil || left.null || right.null {
		return unknown, err
	}
	order := order(left, right)
	switch e.Op {
	case joincore.Equal:
		return truthOf(order == 0), nil
	case joincore.NotEqual:
		return truthOf(order != 0), nil
	case joincore.Less:
		return truthOf(order < 0), nil
	case joincore.LessEqual:
		return truthOf(order <= 0), nil
	case joincore.Greater:
		return truthOf(order > 0), nil
	case joincore.GreaterEqual:
		return truthOf(order >= 0), nil
	}
	return unknown, fmt.Errorf("comparison %d: %w", e.Op, joincore.ErrUnsupported)
}

func (o *oracle) in(e *joincore.In, t tuple) (truth, error) {
	arg, err := o.value(e.Arg, t)
	if err != nil {
		return unknown, err
	}
	if len(e.Ints) == 0 && len(e.Texts) == 0 && !e.Null {
		return isFalse, nil
	}
	if arg.null {
		return unknown, nil
	}
	for _, n := range e.Ints {
		if arg.n.Cmp(big.NewInt(n)) == 0 {
			return isTrue, nil
		}
	}
	for _, text := range e.Texts {
		if string(arg.bytes) == string(text) {
			return isTrue, nil
		}
	}
	if e.Null {
		return unknown, nil
	}
	return isFalse, nil
}
