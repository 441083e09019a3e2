package plan

import (
	"fmt"

	"gpujoin/joincore"
)

var compareOps = map[string]joincore.CompareOp{
	"=": joincore.Equal, "<>": joincore.NotEqual, "<": joincore.Less,
	"<=": joincore.LessEqual, ">": joincore.Greater, ">=": joincore.GreaterEqual,
}

// expr builds a condition over columns of the inputs in scope. The depth is
// bounded by checkShape.
func (t *tree) expr(w *wireExpr, scope []int) (joincore.Expr, error) {
	if w == nil {
		return nil, fmt.Errorf("an expression is missing")
	}
	set := 0
	for _, there := range []bool{w.And != nil, w.Or != nil, w.Not != nil, w.Compare != "", w.IsNull != nil} {
		if there {
			set++
		}
	}
	if set != 1 {
		return nil, fmt.Errorf("an expression must have exactly one of and, or, not, compare, is_null")
	}
	if (w.Left != nil || w.Right != nil) && w.Compare == "" {
		return nil, fmt.Errorf("only compare has operands")
	}
	switch {
	case w.And != nil:
		args, err := t.exprs(w.And, scope)
		return &joincore.And{Args: args}, err
	case w.Or != nil:
		args, err := t.exprs(w.Or, scope)
		return &joincore.Or{Args: args}, err
	case w.Not != nil:
		arg, err := t.expr(w.Not, scope)
		return &joincore.Not{Arg: arg}, err
	case w.IsNull != nil:
		ref, err := t.ref(w.IsNull, scope)
		return &joincore.IsNull{Arg: ref}, err
	}
	c := &joincore.Compare{Op: compareOps[w.Compare]}
	if c.Op == 0 {
		return nil, fmt.Errorf("unknown comparison %q", w.Compare)
	}
	var err error
	if c.Left, err = t.operand(w.Left, scope); err != nil {
		return nil, err
	}
	c.Right, err = t.operand(w.Right, scope)
	return c, err
}

func (t *tree) exprs(ws []*wireExpr, scope []int) ([]joincore.Expr, error) {
	if len(ws) == 0 {
		return nil, fmt.Errorf("and, or must have at least one argument")
	}
	args := make([]joincore.Expr, len(ws))
	for i, w := range ws {
		var err error
		if args[i], err = t.expr(w, scope); err != nil {
			return nil, err
		}
	}
	return args, nil
}

func (t *tree) operand(w *wireOperand, scope []int) (joincore.Value, error) {
	switch {
	case w == nil:
		return nil, fmt.Errorf("a comparison must have two operands")
	case w.Column != nil && w.Int == nil && w.Parameter == nil:
		ref, err := t.ref(w.Column, scope)
		if err != nil {
			return nil, err
		}
		if c := t.column(ref); c.Kind != joincore.Fixed || !intWidth(c.Width) {
			return nil, fmt.Errorf("column %d of input %d is not an integer", ref.Column, ref.Input)
		}
		return ref, nil
	case w.Int != nil && w.Column == nil && w.Parameter == nil:
		return joincore.Int(*w.Int), nil
	case w.Parameter != nil && w.Column == nil && w.Int == nil:
		if *w.Parameter < 0 || *w.Parameter >= len(t.job.Plan.Parameters) {
			return nil, fmt.Errorf("parameter %d does not exist", *w.Parameter)
		}
		return joincore.ParameterIndex(*w.Parameter), nil
	}
	return nil, fmt.Errorf("an operand must have exactly one of column, int, parameter")
}
