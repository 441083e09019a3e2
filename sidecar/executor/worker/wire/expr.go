package wire

import (
	"fmt"

	"gpujoin/joincore"
)

func encodeExpr(e joincore.Expr) (*Expr, error) {
	switch e := e.(type) {
	case *joincore.And:
		args, err := encodeExprs(e.Args)
		return &Expr{Expr: &Expr_And{args}}, err
	case *joincore.Or:
		args, err := encodeExprs(e.Args)
		return &Expr{Expr: &Expr_Or{args}}, err
	case *joincore.Not:
		arg, err := encodeExpr(e.Arg)
		return &Expr{Expr: &Expr_Not{arg}}, err
	case *joincore.IsNull:
		ref, ok := e.Arg.(joincore.ColumnRef)
		if !ok {
			return nil, fmt.Errorf("%w: whether a %T is NULL", joincore.ErrUnsupported, e.Arg)
		}
		return &Expr{Expr: &Expr_IsNull{encodeRef(ref)}}, nil
	case *joincore.Compare:
		left, err := encodeOperand(e.Left)
		if err != nil {
			return nil, err
		}
		right, err := encodeOperand(e.Right)
		return &Expr{Expr: &Expr_Compare{&Compare{Op: uint32(e.Op), Left: left, Right: right}}}, err
	}
	return nil, fmt.Errorf("%w: expression %T", joincore.ErrUnsupported, e)
}

func encodeExprs(args []joincore.Expr) (*Exprs, error) {
	out := &Exprs{}
	for _, a := range args {
		e, err := encodeExpr(a)
		if err != nil {
			return nil, err
		}
		out.Args = append(out.Args, e)
	}
	return out, nil
}

func encodeOperand(o joincore.Value) (*Operand, error) {
	switch o := o.(type) {
	case joincore.ColumnRef:
		return &Operand{Operand: &Operand_Column{encodeRef(o)}}, nil
	case joincore.Int:
		return &Operand{Operand: &Operand_Int{int64(o)}}, nil
	case joincore.ParameterIndex:
		return &Operand{Operand: &Operand_Parameter{uint32(o)}}, nil
	}
	return nil, fmt.Errorf("%w: operand %T", joincore.ErrUnsupported, o)
}

func decodeExpr(e *Expr, depth int) (joincore.Expr, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("%w: an expression deeper than %d", ErrMalformed, maxDepth)
	}
	switch v := e.GetExpr().(type) {
	case *Expr_And:
		args, err := decodeExprs(v.And.GetArgs(), depth)
		return &joincore.And{Args: args}, err
	case *Expr_Or:
		args, err := decodeExprs(v.Or.GetArgs(), depth)
		return &joincore.Or{Args: args}, err
	case *Expr_Not:
		arg, err := decodeExpr(v.Not, depth+1)
		return &joincore.Not{Arg: arg}, err
	case *Expr_IsNull:
		return &joincore.IsNull{Arg: decodeRef(v.IsNull)}, nil
	case *Expr_Compare:
		return decodeCompare(v.Compare)
	}
	return nil, fmt.Errorf("%w: an expression without a kind", ErrMalformed)
}

func decodeExprs(list []*Expr, depth int) ([]joincore.Expr, error) {
	if len(list) > maxColumns {
		return nil, fmt.Errorf("%w: %d arguments", ErrMalformed, len(list))
	}
	var out []joincore.Expr
	for _, a := range list {
		e, err := decodeExpr(a, depth+1)
		if err != nil {
			return nil, err
		}
		out = append(out, e)
	}
	return out, nil
}

func decodeCompare(c *Compare) (joincore.Expr, error) {
	if c.GetOp() > uint32(joincore.GreaterEqual) {
		return nil, fmt.Errorf("%w: comparison %d", ErrMalformed, c.GetOp())
	}
	left, err := decodeOperand(c.GetLeft())
	if err != nil {
		return nil, err
	}
	right, err := decodeOperand(c.GetRight())
	return &joincore.Compare{Op: joincore.CompareOp(c.GetOp()), Left: left, Right: right}, err
}

func decodeOperand(o *Operand) (joincore.Value, error) {
	switch v := o.GetOperand().(type) {
	case *Operand_Column:
		return decodeRef(v.Column), nil
	case *Operand_Int:
		return joincore.Int(v.Int), nil
	case *Operand_Parameter:
		return joincore.ParameterIndex(v.Parameter), nil
	}
	return nil, fmt.Errorf("%w: an operand without a kind", ErrMalformed)
}
