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

var arithmeticOps = map[string]joincore.ArithmeticOp{
	"+": joincore.Add, "-": joincore.Subtract, "*": joincore.Multiply, "/": joincore.Divide, "%": joincore.Modulo,
}

var dateFields = map[string]joincore.DateField{
	"year": joincore.Year, "month": joincore.Month, "day": joincore.Day,
}

var encodings = map[string]joincore.Encoding{"single": joincore.SingleByte, "utf8": joincore.UTF8}

// value builds a value, of which the same is checked as of conditions.
func (j *Job) value(w *wireValue) (joincore.Value, error) {
	if w == nil {
		return nil, fmt.Errorf("a value is missing")
	}
	if err := w.oneKind(); err != nil {
		return nil, err
	}
	switch {
	case w.Column != nil:
		return column(w.Column)
	case w.Decimal != nil:
		ref, err := column(w.Decimal)
		return joincore.Decimal{Column: ref}, err
	case w.Int != nil:
		return joincore.Int(*w.Int), nil
	case w.Null != nil:
		return joincore.Null{Width: *w.Null}, nil
	case w.Text != nil:
		b, err := hex.DecodeString(*w.Text)
		return &joincore.Text{Bytes: b}, err
	case w.Parameter != nil:
		return j.parameter(*w.Parameter, w.IsText)
	case w.Fn != nil:
		return j.function(w)
	case w.Truth != nil:
		arg, err := j.expr(w.Truth)
		return &joincore.Truth{Arg: arg}, err
	}
	return j.caseValue(w)
}

// oneKind returns an error unless w has the members of exactly one kind of
// value.
func (w *wireValue) oneKind() error {
	if !one(
		w.Column != nil, w.Decimal != nil, w.Int != nil, w.Null != nil, w.Text != nil,
		w.Parameter != nil, w.Fn != nil, w.Truth != nil, w.Case != nil,
	) {
		return fmt.Errorf("a value is one of column, decimal, int, null, text, parameter, fn, case, truth")
	}
	if w.IsText && w.Parameter == nil {
		return fmt.Errorf("only parameter has is_text")
	}
	if (w.Else != nil) != (w.Case != nil) {
		return fmt.Errorf("case needs else, and no other value has it")
	}
	if w.Fn == nil && (w.Args != nil || w.Width != nil || w.From != nil || w.For != nil || w.Encoding != nil) {
		return fmt.Errorf("only fn has args, width, from, for, encoding")
	}
	return nil
}

func (j *Job) caseValue(w *wireValue) (joincore.Value, error) {
	out := &joincore.Case{}
	for i := range w.Case {
		condition, err := j.expr(w.Case[i].When)
		if err != nil {
			return nil, err
		}
		then, err := j.value(w.Case[i].Then)
		if err != nil {
			return nil, err
		}
		out.Whens = append(out.Whens, joincore.When{Condition: condition, Then: then})
	}
	var err error
	out.Else, err = j.value(w.Else)
	return out, err
}

// function builds a value that is named by fn.
func (j *Job) function(w *wireValue) (joincore.Value, error) {
	var args []joincore.Value
	for _, a := range w.Args {
		v, err := j.value(a)
		if err != nil {
			return nil, err
		}
		args = append(args, v)
	}
	name := *w.Fn
	arithmetic, field := arithmeticOps[name], dateFields[name]
	if (w.Width != nil) != (arithmetic != 0) {
		return nil, fmt.Errorf("arithmetic needs width, and no other function has it")
	}
	if substring := name == "substring"; substring != (w.From != nil) || substring != (w.For != nil) || substring != (w.Encoding != nil) {
		return nil, fmt.Errorf("substring needs from, for and encoding, and no other function has them")
	}
	switch {
	case arithmetic != 0 && len(args) == 2:
		return &joincore.Arithmetic{Op: arithmetic, Width: *w.Width, Left: args[0], Right: args[1]}, nil
	case field != 0 && len(args) == 1:
		return &joincore.DatePart{Part: field, Arg: args[0]}, nil
	case name == "coalesce":
		return &joincore.Coalesce{Args: args}, nil
	case name == "substring" && len(args) == 1:
		e, err := encoding(*w.Encoding)
		return &joincore.Substring{Arg: args[0], From: int(*w.From), For: int(*w.For), Characters: e}, err
	}
	return nil, fmt.Errorf("no function %q of %d arguments", name, len(args))
}

func encoding(name string) (joincore.Encoding, error) {
	e := encodings[name]
	if e == 0 {
		return 0, fmt.Errorf("unknown encoding %q", name)
	}
	return e, nil
}
