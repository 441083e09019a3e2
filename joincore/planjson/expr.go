package planjson

import (
	"encoding/hex"
	"fmt"
	"slices"

	"gpujoin/joincore"
)

var compareOps = map[string]joincore.CompareOp{
	"=": joincore.Equal, "<>": joincore.NotEqual, "<": joincore.Less,
	"<=": joincore.LessEqual, ">": joincore.Greater, ">=": joincore.GreaterEqual,
}

// expr builds a condition. checkShape bounds its depth; joincore.Check checks its columns and
// types.
func (j *Job) expr(w *wireExpr) (joincore.Expr, error) {
	if w == nil {
		return nil, fmt.Errorf("an expression is missing")
	}
	if err := w.oneKind(); err != nil {
		return nil, err
	}
	switch {
	case w.And != nil:
		args, err := j.exprs(w.And)
		return &joincore.And{Args: args}, err
	case w.Or != nil:
		args, err := j.exprs(w.Or)
		return &joincore.Or{Args: args}, err
	case w.Not != nil:
		arg, err := j.expr(w.Not)
		return &joincore.Not{Arg: arg}, err
	case w.IsNull != nil:
		arg, err := j.value(w.IsNull)
		return &joincore.IsNull{Arg: arg}, err
	case w.In != nil:
		return j.in(w)
	case w.Like != nil:
		return j.like(w)
	}
	c := &joincore.Compare{Op: compareOps[w.Compare]}
	if c.Op == 0 {
		return nil, fmt.Errorf("unknown comparison %q", w.Compare)
	}
	var err error
	if c.Left, err = j.value(w.Left); err != nil {
		return nil, err
	}
	c.Right, err = j.value(w.Right)
	return c, err
}

// oneKind returns an error unless w has the members of exactly one kind of
// condition.
func (w *wireExpr) oneKind() error {
	if !one(w.And != nil, w.Or != nil, w.Not != nil, w.Compare != "", w.IsNull != nil, w.In != nil, w.Like != nil) {
		return fmt.Errorf("an expression is one of and, or, not, compare, is_null, in, like")
	}
	switch {
	case (w.Left != nil || w.Right != nil) && w.Compare == "":
		return fmt.Errorf("only compare has left, right")
	case (w.Ints != nil || w.Texts != nil || w.Null) && w.In == nil:
		return fmt.Errorf("only in has ints, texts, null")
	case (w.Pattern != nil || w.Encoding != nil) && w.Like == nil:
		return fmt.Errorf("only like has pattern, encoding")
	}
	return nil
}

// one reports whether exactly one of some kinds is there.
func one(kinds ...bool) bool {
	first := slices.Index(kinds, true)
	return first >= 0 && !slices.Contains(kinds[first+1:], true)
}

func (j *Job) exprs(ws []*wireExpr) ([]joincore.Expr, error) {
	if len(ws) == 0 {
		return nil, fmt.Errorf("and, or must have at least one argument")
	}
	args := make([]joincore.Expr, len(ws))
	for i, w := range ws {
		var err error
		if args[i], err = j.expr(w); err != nil {
			return nil, err
		}
	}
	return args, nil
}

func (j *Job) in(w *wireExpr) (joincore.Expr, error) {
	if w.Ints != nil && w.Texts != nil {
		return nil, fmt.Errorf("in has ints or texts, not both")
	}
	arg, err := j.value(w.In)
	if err != nil {
		return nil, err
	}
	out := &joincore.In{Arg: arg, Ints: w.Ints, Null: w.Null}
	for _, text := range w.Texts {
		b, err := hex.DecodeString(text)
		if err != nil {
			return nil, err
		}
		out.Texts = append(out.Texts, b)
	}
	return out, nil
}

func (j *Job) like(w *wireExpr) (joincore.Expr, error) {
	if w.Pattern == nil || w.Encoding == nil {
		return nil, fmt.Errorf("like needs pattern and encoding")
	}
	arg, err := j.value(w.Like)
	if err != nil {
		return nil, err
	}
	out := &joincore.Like{Arg: arg}
	if out.Pattern, err = hex.DecodeString(*w.Pattern); err != nil {
		return nil, err
	}
	out.Encoding, err = encoding(*w.Encoding)
	return out, err
}
