package multi

import (
	"fmt"

	"gpujoin/joincore"
)

// rewriteExpr returns a condition whose columns are those that to returns for its
// columns. nil stays nil. The error wraps ErrUnsupported for a type of condition or
// value that is not known here.
func rewriteExpr(e joincore.Expr, to func(joincore.ColumnRef) joincore.ColumnRef) (joincore.Expr, error) {
	r := rewriter{to: to}
	out := r.expr(e)
	return out, r.err
}

// rewriteValue does the same with a value.
func rewriteValue(v joincore.Value, to func(joincore.ColumnRef) joincore.ColumnRef) (joincore.Value, error) {
	r := rewriter{to: to}
	out := r.value(v)
	return out, r.err
}

type rewriter struct {
	to  func(joincore.ColumnRef) joincore.ColumnRef
	err error
}

func (r *rewriter) expr(e joincore.Expr) joincore.Expr {
	switch e := e.(type) {
	case nil:
		return nil
	case *joincore.And:
		return &joincore.And{Args: r.exprs(e.Args)}
	case *joincore.Or:
		return &joincore.Or{Args: r.exprs(e.Args)}
	case *joincore.Not:
		return &joincore.Not{Arg: r.expr(e.Arg)}
	case *joincore.Compare:
		return &joincore.Compare{Op: e.Op, Left: r.value(e.Left), Right: r.value(e.Right)}
	case *joincore.IsNull:
		return &joincore.IsNull{Arg: r.value(e.Arg)}
	case *joincore.In:
		out := *e
		out.Arg = r.value(e.Arg)
		return &out
	case *joincore.Like:
		out := *e
		out.Arg = r.value(e.Arg)
		return &out
	}
	r.err = fmt.Errorf("columns of condition %T: %w", e, joincore.ErrUnsupported)
	return e
}

func (r *rewriter) exprs(args []joincore.Expr) []joincore.Expr {
	out := make([]joincore.Expr, len(args))
	for i, a := range args {
		out[i] = r.expr(a)
	}
	return out
}

func (r *rewriter) value(v joincore.Value) joincore.Value {
	switch v := v.(type) {
	case nil:
		return nil
	case joincore.ColumnRef:
		return r.to(v)
	case joincore.Decimal:
		return joincore.Decimal{Column: r.to(v.Column)}
	case joincore.Int, joincore.ParameterIndex, joincore.Null, *joincore.Text:
		return v
	case *joincore.Arithmetic:
		return &joincore.Arithmetic{Op: v.Op, Width: v.Width, Left: r.value(v.Left), Right: r.value(v.Right)}
	case *joincore.Case:
		out := &joincore.Case{Else: r.value(v.Else)}
		for _, w := range v.Whens {
			out.Whens = append(out.Whens, joincore.When{Condition: r.expr(w.Condition), Then: r.value(w.Then)})
		}
		return out
	case *joincore.Coalesce:
		out := &joincore.Coalesce{}
		for _, a := range v.Args {
			out.Args = append(out.Args, r.value(a))
		}
		return out
	case *joincore.DatePart:
		return &joincore.DatePart{Part: v.Part, Arg: r.value(v.Arg)}
	case *joincore.Substring:
		out := *v
		out.Arg = r.value(v.Arg)
		return &out
	case *joincore.Truth:
		return &joincore.Truth{Arg: r.expr(v.Arg)}
	}
	r.err = fmt.Errorf("columns of value %T: %w", v, joincore.ErrUnsupported)
	return v
}
