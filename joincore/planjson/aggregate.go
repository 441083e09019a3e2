package planjson

import (
	"fmt"

	"gpujoin/joincore"
)

var functionKinds = map[string]joincore.FunctionKind{
	"count": joincore.Count, "sum": joincore.Sum, "min": joincore.Min, "max": joincore.Max,
	"bool_and": joincore.BoolAnd, "bool_or": joincore.BoolOr, "sum_squares": joincore.SumOfSquares,
	"sum_float8": joincore.SumFloat8, "sum_float4": joincore.SumFloat4, "avg_float": joincore.AverageFloat,
}

// derived describes the result of an aggregate.
type derived struct {
	columns []joincore.Column
	keyOnly []bool // parallel to columns; see Column.KeyOnly
}

func (t *tree) aggregate(w *wireNode, at string) (joincore.Node, error) {
	first := len(t.inputs)
	child, err := t.node(w.Child, at+".child")
	if err != nil {
		return nil, err
	}
	a := &joincore.Aggregate{Child: child}
	scope := t.inputs[first:]
	// Aggregates are numbered in post-order, so that no number is used twice
	// and none is left out.
	if a.ID = len(t.job.plan.Inputs) + len(t.derived); w.ID == nil || *w.ID != a.ID {
		return nil, fmt.Errorf("%s: id of this aggregate must be %d", at, a.ID)
	}
	if a.Rows, err = rows(w.Rows); err != nil {
		return nil, fmt.Errorf("%s: %w", at, err)
	}
	if n := len(w.Keys) + len(w.Carry) + len(w.Functions); n == 0 || n > MaxColumns {
		return nil, fmt.Errorf("%s: an aggregate has 1 to %d columns, not %d", at, MaxColumns, n)
	}
	if err := t.aggregateColumns(a, w, scope); err != nil {
		return nil, fmt.Errorf("%s: %w", at, err)
	}
	columns, err := a.Columns(t.scope())
	if err != nil {
		return nil, fmt.Errorf("%s: %w", at, err)
	}
	t.derived = append(t.derived, derived{columns: columns, keyOnly: t.keyForms(a, len(columns))})
	t.inputs = append(t.inputs[:first], a.ID)
	return a, nil
}

func (t *tree) aggregateColumns(a *joincore.Aggregate, w *wireNode, scope []int) error {
	for i, raw := range w.Keys {
		var k wireValue
		if err := decodeStrict(raw, &k); err != nil {
			return fmt.Errorf("keys[%d]: %w", i, err)
		}
		v, err := t.value(&k, scope)
		if err != nil {
			return fmt.Errorf("keys[%d]: %w", i, err)
		}
		a.Keys = append(a.Keys, v)
	}
	for i, c := range w.Carry {
		ref, err := t.ref(c, scope)
		if err != nil {
			return fmt.Errorf("carry[%d]: %w", i, err)
		}
		a.Carry = append(a.Carry, ref)
	}
	for i := range w.Functions {
		f, err := t.aggregateFunction(&w.Functions[i], scope)
		if err != nil {
			return fmt.Errorf("functions[%d]: %w", i, err)
		}
		a.Functions = append(a.Functions, f)
	}
	return nil
}

func (t *tree) aggregateFunction(w *wireFunction, scope []int) (f joincore.Function, err error) {
	f = joincore.Function{Kind: functionKinds[w.Fn], Distinct: w.Distinct}
	if f.Kind == 0 {
		return f, fmt.Errorf("unknown function %q", w.Fn)
	}
	if w.Arg != nil {
		if f.Arg, err = t.value(w.Arg, scope); err != nil {
			return f, err
		}
	}
	if w.Filter != nil {
		f.Filter, err = t.expr(w.Filter, scope)
	}
	return f, err
}

// keyForms says which of an aggregate's n columns are key forms: those that it
// takes over from its child.
func (t *tree) keyForms(a *joincore.Aggregate, n int) []bool {
	out := make([]bool, n)
	for i, k := range a.Keys {
		if ref, ok := k.(joincore.ColumnRef); ok {
			out[i] = t.keyOnly(ref)
		}
	}
	for i, ref := range a.Carry {
		out[len(a.Keys)+i] = t.keyOnly(ref)
	}
	return out
}

// keyOnly says whether a column is a key form, which is never returned.
func (t *tree) keyOnly(r joincore.ColumnRef) bool {
	if n := len(t.job.Inputs); r.Input >= n {
		return t.derived[r.Input-n].keyOnly[r.Column]
	}
	return t.job.Inputs[r.Input].Columns[r.Column].KeyOnly
}

// columns returns the columns of an input or of an aggregate's result.
func (t *tree) columns(input int) []joincore.Column {
	if n := len(t.job.plan.Inputs); input >= n {
		return t.derived[input-n].columns
	}
	return t.job.plan.Inputs[input].Columns
}

func (t *tree) column(r joincore.ColumnRef) joincore.Column { return t.columns(r.Input)[r.Column] }
