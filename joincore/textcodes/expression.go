package textcodes

import "gpujoin/joincore"

// readsBytes reports whether a device would have to read a text, or compare one, to
// evaluate a condition. Whether a column is NULL is known without reading it.
func (w *rewriter) readsBytes(e joincore.Expr) bool {
	switch e := e.(type) {
	case *joincore.And:
		return w.anyReadsBytes(e.Args)
	case *joincore.Or:
		return w.anyReadsBytes(e.Args)
	case *joincore.Not:
		return w.readsBytes(e.Arg)
	case *joincore.Compare:
		return w.hasBytes(e.Left) || w.hasBytes(e.Right)
	case *joincore.IsNull:
		_, column := e.Arg.(joincore.ColumnRef)
		return !column && w.hasBytes(e.Arg)
	case *joincore.In:
		return len(e.Texts) > 0 || w.hasBytes(e.Arg)
	case *joincore.Like:
		return true
	}
	return false
}

func (w *rewriter) anyReadsBytes(args []joincore.Expr) bool {
	for _, a := range args {
		if w.readsBytes(a) {
			return true
		}
	}
	return false
}

// hasBytes reports whether a value is a text or is computed from one.
func (w *rewriter) hasBytes(v joincore.Value) bool {
	switch v := v.(type) {
	case joincore.ColumnRef:
		return w.schema.Column(v).Kind == joincore.Varlena
	case joincore.Null:
		return v.Width == 0
	case *joincore.Text, *joincore.Substring:
		return true
	case *joincore.Arithmetic:
		return w.hasBytes(v.Left) || w.hasBytes(v.Right)
	case *joincore.Case:
		for _, arm := range v.Whens {
			if w.readsBytes(arm.Condition) || w.hasBytes(arm.Then) {
				return true
			}
		}
		return w.hasBytes(v.Else)
	case *joincore.Coalesce:
		for _, a := range v.Args {
			if w.hasBytes(a) {
				return true
			}
		}
	case *joincore.DatePart:
		return w.hasBytes(v.Arg)
	case *joincore.Truth:
		return w.readsBytes(v.Arg)
	}
	return false
}

// nullOfNulls reports whether a value is known to be NULL where all columns are.
func nullOfNulls(v joincore.Value) bool {
	switch v := v.(type) {
	case joincore.ColumnRef, joincore.Decimal, joincore.Null:
		return true
	case *joincore.Arithmetic:
		return nullOfNulls(v.Left) || nullOfNulls(v.Right)
	case *joincore.Coalesce:
		for _, a := range v.Args {
			if !nullOfNulls(a) {
				return false
			}
		}
		return true
	case *joincore.DatePart:
		return nullOfNulls(v.Arg)
	case *joincore.Substring:
		return nullOfNulls(v.Arg)
	case *joincore.Truth:
		return unknownOfNulls(v.Arg)
	}
	return false
}

// unknownOfNulls reports whether a condition is known to be unknown where all columns are
// NULL.
func unknownOfNulls(e joincore.Expr) bool {
	switch e := e.(type) {
	case *joincore.And:
		return allUnknownOfNulls(e.Args)
	case *joincore.Or:
		return allUnknownOfNulls(e.Args)
	case *joincore.Not:
		return unknownOfNulls(e.Arg)
	case *joincore.Compare:
		return nullOfNulls(e.Left) || nullOfNulls(e.Right)
	case *joincore.In:
		return nullOfNulls(e.Arg) && len(e.Ints)+len(e.Texts) > 0
	case *joincore.Like:
		return nullOfNulls(e.Arg)
	}
	return false
}

func allUnknownOfNulls(args []joincore.Expr) bool {
	for _, a := range args {
		if !unknownOfNulls(a) {
			return false
		}
	}
	return len(args) > 0
}

// expr rewrites a condition over rows in which the columns of missing inputs may all be
// NULL.
func (w *rewriter) expr(e joincore.Expr, missing inputs) joincore.Expr {
	if e == nil {
		return nil
	}
	if w.readsBytes(e) && !joincore.ExprCanFail(e) {
		if input, ok := w.single(joincore.ExprColumns(e)); ok {
			if out, ok := w.truth(e, input, missing); ok {
				return out
			}
		} else if out, ok := w.selected(e); ok {
			return out
		}
	}
	switch e := e.(type) {
	case *joincore.And:
		return &joincore.And{Args: w.exprs(e.Args, missing)}
	case *joincore.Or:
		return &joincore.Or{Args: w.exprs(e.Args, missing)}
	case *joincore.Not:
		return &joincore.Not{Arg: w.expr(e.Arg, missing)}
	case *joincore.Compare:
		if w.isBytes(e.Left) && w.isBytes(e.Right) {
			ordered := e.Op != joincore.Equal && e.Op != joincore.NotEqual
			if left, right, ok := w.compared(e.Left, e.Right, missing, ordered); ok {
				return &joincore.Compare{Op: e.Op, Left: left, Right: right}
			}
		}
		return &joincore.Compare{Op: e.Op, Left: w.value(e.Left, missing), Right: w.value(e.Right, missing)}
	case *joincore.IsNull:
		if c, ok := e.Arg.(joincore.ColumnRef); ok && c.Input >= len(w.plan.Inputs) {
			if n, ok := w.numbers[c]; ok { // of groups, whose texts stay on the host
				return &joincore.IsNull{Arg: n.value}
			}
		}
		return &joincore.IsNull{Arg: w.value(e.Arg, missing)}
	case *joincore.In:
		out := *e
		out.Arg = w.value(e.Arg, missing)
		return &out
	case *joincore.Like:
		out := *e
		out.Arg = w.value(e.Arg, missing)
		return &out
	}
	return e
}

// truth replaces a condition over an input by a column. Rows that an outer join adds have
// NULL there, so if the condition is not unknown in them, its truth there is a constant.
func (w *rewriter) truth(e joincore.Expr, input int, missing inputs) (joincore.Expr, bool) {
	var ofNulls joincore.Expr
	if missing[input] && !unknownOfNulls(e) {
		var ok bool
		if ofNulls, ok = w.truthOfNulls(input, e); !ok {
			return nil, false
		}
	}
	column := w.add(input, added{kind: addedTruth, value: &joincore.Truth{Arg: e}})
	truth := &joincore.Compare{Op: joincore.NotEqual, Left: column, Right: joincore.Int(0)}
	if ofNulls == nil {
		return truth, true
	}
	isMissing := w.isMissing(input)
	return &joincore.Or{Args: []joincore.Expr{
		&joincore.And{Args: []joincore.Expr{&joincore.Not{Arg: isMissing}, truth}}, &joincore.And{Args: []joincore.Expr{isMissing, ofNulls}},
	}}, true
}

func (w *rewriter) exprs(args []joincore.Expr, missing inputs) []joincore.Expr {
	out := make([]joincore.Expr, len(args))
	for i, a := range args {
		out[i] = w.expr(a, missing)
	}
	return out
}

// value rewrites a value.
func (w *rewriter) value(v joincore.Value, missing inputs) joincore.Value {
	switch v := v.(type) {
	case joincore.ColumnRef:
		return w.moved(v)
	case joincore.Decimal:
		return joincore.Decimal{Column: w.moved(v.Column)}
	case *joincore.Arithmetic:
		out := *v
		out.Left, out.Right = w.value(v.Left, missing), w.value(v.Right, missing)
		return &out
	case *joincore.Case:
		out := &joincore.Case{Else: w.value(v.Else, missing)}
		for _, arm := range v.Whens {
			out.Whens = append(out.Whens, joincore.When{Condition: w.expr(arm.Condition, missing), Then: w.value(arm.Then, missing)})
		}
		return out
	case *joincore.Coalesce:
		out := &joincore.Coalesce{}
		for _, a := range v.Args {
			out.Args = append(out.Args, w.value(a, missing))
		}
		return out
	case *joincore.DatePart:
		return &joincore.DatePart{Part: v.Part, Arg: w.value(v.Arg, missing)}
	case *joincore.Substring:
		out := *v
		out.Arg = w.value(v.Arg, missing)
		return &out
	case *joincore.Truth:
		return &joincore.Truth{Arg: w.expr(v.Arg, missing)}
	}
	return v
}

// single returns the base input to which all of some columns belong.
func (w *rewriter) single(columns []joincore.ColumnRef) (input int, ok bool) {
	for i, c := range columns {
		if c.Input >= len(w.plan.Inputs) || i > 0 && c.Input != input {
			return 0, false
		}
		input = c.Input
	}
	return input, len(columns) > 0
}
