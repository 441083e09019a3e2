package program

import (
	"reflect"
	"slices"

	"gpujoin/joincore"
)

// Distinct is an expression of which functions take each value once a group. The
// values are groups themselves, by the keys and the value, without functions. They
// come from the rows that have a value and pass the functions' filter. In the end
// they are rows that are added to the aggregate's groups (Groups.CompileDistinct).
type Distinct struct {
	*Groups
	Columns []joincore.Column // of the rows: the keys and the value

	value  joincore.Value
	filter joincore.Expr
}

// DistinctInput is the number of the input whose columns are Distinct.Columns.
const DistinctInput = -1

// of returns the rows of which a function's cells keep something: those of the
// aggregate, or distinct values.
func (g *Groups) of(f *joincore.Function, columns []joincore.Column, rows Rows) (Cell, error) {
	if !f.Distinct {
		return Cell{Arg: f.Arg, Filter: f.Filter}, nil
	}
	number := slices.IndexFunc(g.Distinct, func(d *Distinct) bool {
		return reflect.DeepEqual(d.value, f.Arg) && reflect.DeepEqual(d.filter, f.Filter)
	})
	if number < 0 {
		d, err := g.distinct(f, columns, rows)
		if err != nil {
			return Cell{}, err
		}
		number = len(g.Distinct)
		g.Distinct = append(g.Distinct, d)
	}
	return Cell{Distinct: number + 1, Arg: joincore.ColumnRef{Input: DistinctInput, Column: len(g.Keys)}}, nil
}

// distinct plans the groups of the values of a function's argument. columns begin with
// those of the keys. The argument of rows that fail the filter is not evaluated.
func (g *Groups) distinct(f *joincore.Function, columns []joincore.Column, rows Rows) (*Distinct, error) {
	column, err := storedAs(f.Arg, rows)
	if err != nil {
		return nil, err
	}
	d := &Distinct{Columns: append(slices.Clone(columns[:len(g.Keys)]), column), value: f.Arg, filter: f.Filter}
	hasValue := &joincore.Not{Arg: &joincore.IsNull{Arg: f.Arg}}
	where := append(slices.Clone(g.Where), conditions(f.Filter, hasValue)...)
	d.Groups, err = newGroups(where, append(slices.Clone(g.Keys), f.Arg), nil, d.Columns, rows)
	return d, err
}

// storedAs returns the column of a key.
func storedAs(v joincore.Value, rows Rows) (joincore.Column, error) {
	if ref, ok := v.(joincore.ColumnRef); ok {
		return rows.Column(ref), nil
	}
	t, err := joincore.ValueType(v, rows.Column)
	if t.Bytes {
		err = unsupported("distinct values of variable length")
	}
	return joincore.Column{Kind: joincore.Fixed, Width: t.Width, Align: min(t.Width, 8)}, err
}

// CompileDistinct returns the program that adds the values of Distinct[i] to their
// groups, which exist. rows are those of DistinctInput.
func (g *Groups) CompileDistinct(i int, rows Rows) (*Program, error) {
	keys := make([]joincore.Value, len(g.Keys))
	for k := range keys {
		keys[k] = joincore.ColumnRef{Input: DistinctInput, Column: k}
	}
	return g.compile(nil, keys, i+1, rows)
}

// rows describes the distinct values.
func (d *Distinct) rows() Rows {
	return Rows{
		Where:  func(joincore.ColumnRef) Where { return Probe },
		Column: func(ref joincore.ColumnRef) joincore.Column { return d.Columns[ref.Column] },
	}
}
