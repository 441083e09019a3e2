package textcodes

import (
	"context"
	"fmt"
	"slices"

	"gpujoin/joincore"
	"gpujoin/joincore/cpu"
)

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
