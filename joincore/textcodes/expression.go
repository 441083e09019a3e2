package textcodes

import (
	"context"
	"fmt"
	"slices"

	"gpujoin/joincore"
	"gpujoin/joincore/cpu"
)

// readsBytes reports whether a device would have to read a text, or compare one, to
// evaluate a condition or a value. Whether a column is NULL is known without reading it.
func (w *rewriter) readsBytes(term any) bool {
	var unread joincore.Value // a column of which only that is asked
	for t := range joincore.Terms(term) {
		switch t := t.(type) {
		case *joincore.IsNull:
			if c, ok := t.Arg.(joincore.ColumnRef); ok {
				unread = c
			}
		case joincore.ColumnRef:
			if t != unread && w.schema.Column(t).Kind == joincore.Varlena {
				return true
			}
			unread = nil
		case joincore.Null:
			if t.Width == 0 {
				return true
			}
		case *joincore.In:
			if len(t.Texts) > 0 {
				return true
			}
		case *joincore.Text, *joincore.Substring, *joincore.Like:
			return true
		}
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
		return !slices.ContainsFunc(v.Args, func(a joincore.Value) bool { return !nullOfNulls(a) })
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
	return len(args) > 0 && !slices.ContainsFunc(args, func(e joincore.Expr) bool { return !unknownOfNulls(e) })
}

// expr rewrites a condition over rows in which the columns of missing inputs may all be
// NULL.
func (w *rewriter) expr(e joincore.Expr, missing inputs) joincore.Expr {
	return joincore.Map(e, func(term any) any { return w.replaced(term, missing) })
}

// value rewrites a value.
func (w *rewriter) value(v joincore.Value, missing inputs) joincore.Value {
	return joincore.Map(v, func(term any) any { return w.replaced(term, missing) })
}

// replaced returns what replaces a whole term; nil: its parts are rewritten.
func (w *rewriter) replaced(term any, missing inputs) any {
	switch t := term.(type) {
	case joincore.ColumnRef:
		return w.moved(t)
	case joincore.Decimal:
		return joincore.Decimal{Column: w.moved(t.Column)}
	case joincore.Expr:
		if w.readsBytes(t) && !joincore.CanFail(t) {
			if input, ok := w.single(joincore.Columns(t)); ok {
				if out, ok := w.truth(t, input, missing); ok {
					return out
				}
			} else if out, ok := w.selected(t); ok {
				return out
			}
		}
	}
	switch t := term.(type) {
	case *joincore.Compare:
		if w.isBytes(t.Left) && w.isBytes(t.Right) {
			ordered := t.Op != joincore.Equal && t.Op != joincore.NotEqual
			if left, right, ok := w.compared(t.Left, t.Right, missing, ordered); ok {
				return &joincore.Compare{Op: t.Op, Left: left, Right: right}
			}
		}
	case *joincore.IsNull:
		if c, ok := t.Arg.(joincore.ColumnRef); ok && c.Input >= len(w.old.Inputs) {
			if n, ok := w.numbers[c]; ok { // of groups, whose texts stay on the host
				return &joincore.IsNull{Arg: n.value}
			}
		}
	}
	return nil
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

// single returns the base input to which all of some columns belong.
func (w *rewriter) single(columns []joincore.ColumnRef) (input int, ok bool) {
	for i, c := range columns {
		if c.Input >= len(w.old.Inputs) || i > 0 && c.Input != input {
			return 0, false
		}
		input = c.Input
	}
	return input, len(columns) > 0
}

// selection is a condition over a text of groups. A device has the text's number only, and
// finds it among those of the texts for which the condition is true.
type selection struct {
	condition joincore.Expr
	column    joincore.ColumnRef // that it reads, of the old plan
	of        *vocabulary
	in        *joincore.In // of the new plan
}

// mostSelected bounds the numbers in a condition.
const mostSelected = 1 << 15

// selected replaces a condition that reads one text of groups and is unknown where that is
// NULL.
func (w *rewriter) selected(e joincore.Expr) (joincore.Expr, bool) {
	switch e := e.(type) {
	case *joincore.And, *joincore.Or, *joincore.Not:
		return nil, false // their arguments may be
	case *joincore.Compare:
		if w.canNumber(e.Left, nil) && w.canNumber(e.Right, nil) {
			return nil, false // numbers are compared
		}
	}
	columns := joincore.Columns(e)
	if len(columns) == 0 || !unknownOfNulls(e) {
		return nil, false
	}
	n, ok := w.numbers[columns[0]]
	if !ok || slices.ContainsFunc(columns, func(c joincore.ColumnRef) bool { return c != columns[0] }) {
		return nil, false
	}
	n.of.root().payloads = true
	s := selection{condition: e, column: columns[0], of: n.of, in: &joincore.In{Arg: n.value, Ints: []int64{noNumber}}}
	w.selections = append(w.selections, s)
	return s.in, true
}

// noNumber is that of no text. A list without any number would be false of NULL.
const noNumber = -1

// complete lists the numbers of the texts of a dictionary for which the condition is true.
func (s *selection) complete(ctx context.Context, d *dictionary, parameters []joincore.Parameter, mem *joincore.Account) error {
	texts, err := d.relation(mem)
	if err != nil {
		return err
	}
	// The condition reads the texts where it reads the column.
	rows := &joincore.Relation{}
	from := &texts.Segments[0]
	segment := joincore.Segment{Rows: from.Rows}
	for range s.column.Column + 1 {
		rows.Columns = append(rows.Columns, listedColumns[listedText])
		segment.Columns = append(segment.Columns, from.Columns[listedText])
	}
	rows.Segments = []joincore.Segment{segment}
	evaluator, err := cpu.NewEvaluator(s.column.Input, rows, parameters)
	if err != nil {
		return err
	}
	numbers := d.numbers()
	list, isFalse, unknown := []int64{noNumber}, false, false
	err = evaluator.Each(ctx, &joincore.Truth{Arg: s.condition}, 0, 0, from.Rows, func(first int, v *cpu.Values) error {
		for i, truth := range v.Ints {
			switch {
			case v.Nulls != nil && v.Nulls[i] != 0:
				unknown = true
			case truth != 0:
				list = append(list, int64(numbers[first+i]))
			default:
				isFalse = true
			}
		}
		if len(list) > mostSelected {
			return fmt.Errorf("a condition that is true of more than %d different texts of groups: %w", mostSelected, joincore.ErrUnsupported)
		}
		return nil
	})
	if err == nil && isFalse && unknown {
		err = fmt.Errorf("a condition over a text of groups that is false of some and unknown of others: %w", joincore.ErrUnsupported)
	}
	slices.Sort(list)
	s.in.Ints, s.in.Null = list, unknown
	return err
}
