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

func (j *Job) aggregate(w *wireNode) (joincore.Node, error) {
	child, err := j.child("child", w.Child)
	if err != nil {
		return nil, err
	}
	a := &joincore.Aggregate{Child: child, ID: len(j.plan.Inputs) + len(j.aggregates)}
	// Aggregates are numbered in post-order, so that no number is used twice
	// and none is left out.
	if j.aggregates = append(j.aggregates, a); w.ID == nil || *w.ID != a.ID {
		return nil, fmt.Errorf("id of this aggregate must be %d", a.ID)
	}
	if a.Rows, err = rows(w.Rows); err != nil {
		return nil, err
	}
	if n := len(w.Keys) + len(w.Carry) + len(w.Functions); n == 0 || n > MaxColumns {
		return nil, fmt.Errorf("an aggregate has 1 to %d columns, not %d", MaxColumns, n)
	}
	for i, raw := range w.Keys {
		var k wireValue
		if err := decodeStrict(raw, &k); err != nil {
			return nil, fmt.Errorf("keys[%d]: %w", i, err)
		}
		v, err := j.value(&k)
		if err != nil {
			return nil, fmt.Errorf("keys[%d]: %w", i, err)
		}
		a.Keys = append(a.Keys, v)
	}
	if a.Carry, err = columns(w.Carry); err != nil {
		return nil, fmt.Errorf("carry%w", err)
	}
	for i := range w.Functions {
		f, err := j.aggregateFunction(&w.Functions[i])
		if err != nil {
			return nil, fmt.Errorf("functions[%d]: %w", i, err)
		}
		a.Functions = append(a.Functions, f)
	}
	return a, nil
}

func (j *Job) aggregateFunction(w *wireFunction) (f joincore.Function, err error) {
	f = joincore.Function{Kind: functionKinds[w.Fn], Distinct: w.Distinct}
	if f.Kind == 0 {
		return f, fmt.Errorf("unknown function %q", w.Fn)
	}
	if w.Arg != nil {
		if f.Arg, err = j.value(w.Arg); err != nil {
			return f, err
		}
	}
	if w.Filter != nil {
		f.Filter, err = j.expr(w.Filter)
	}
	return f, err
}
