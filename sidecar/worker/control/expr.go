package control

import (
	"fmt"
	"math"

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
		arg, err := encodeValue(e.Arg)
		return &Expr{Expr: &Expr_IsNull{arg}}, err
	case *joincore.Compare:
		left, err := encodeValue(e.Left)
		if err != nil {
			return nil, err
		}
		right, err := encodeValue(e.Right)
		return &Expr{Expr: &Expr_Compare{&Compare{Op: uint32(e.Op), Left: left, Right: right}}}, err
	case *joincore.In:
		arg, err := encodeValue(e.Arg)
		return &Expr{Expr: &Expr_In{&In{Arg: arg, Ints: e.Ints, Texts: e.Texts, Null: e.Null}}}, err
	case *joincore.Like:
		arg, err := encodeValue(e.Arg)
		return &Expr{Expr: &Expr_Like{&Like{Arg: arg, Pattern: e.Pattern, Encoding: uint32(e.Encoding)}}}, err
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
		arg, err := decodeValue(v.IsNull, depth+1)
		return &joincore.IsNull{Arg: arg}, err
	case *Expr_Compare:
		return decodeCompare(v.Compare, depth)
	case *Expr_In:
		return decodeIn(v.In, depth)
	case *Expr_Like:
		if v.Like.GetEncoding() > math.MaxUint8 {
			return nil, fmt.Errorf("%w: encoding %d", ErrMalformed, v.Like.GetEncoding())
		}
		arg, err := decodeValue(v.Like.GetArg(), depth+1)
		return &joincore.Like{Arg: arg, Pattern: v.Like.GetPattern(), Encoding: joincore.Encoding(v.Like.GetEncoding())}, err
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

func decodeCompare(c *Compare, depth int) (joincore.Expr, error) {
	if c.GetOp() > uint32(joincore.GreaterEqual) {
		return nil, fmt.Errorf("%w: comparison %d", ErrMalformed, c.GetOp())
	}
	left, err := decodeValue(c.GetLeft(), depth+1)
	if err != nil {
		return nil, err
	}
	right, err := decodeValue(c.GetRight(), depth+1)
	return &joincore.Compare{Op: joincore.CompareOp(c.GetOp()), Left: left, Right: right}, err
}

func decodeIn(in *In, depth int) (joincore.Expr, error) {
	if max(len(in.GetInts()), len(in.GetTexts())) > maxList {
		return nil, fmt.Errorf("%w: a list of %d values", ErrMalformed, max(len(in.GetInts()), len(in.GetTexts())))
	}
	arg, err := decodeValue(in.GetArg(), depth+1)
	return &joincore.In{Arg: arg, Ints: in.GetInts(), Texts: in.GetTexts(), Null: in.GetNull()}, err
}
