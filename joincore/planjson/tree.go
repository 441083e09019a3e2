package planjson

import (
	"fmt"

	"gpujoin/joincore"
)

var kinds = map[string]joincore.Kind{
	"inner": joincore.Inner, "left": joincore.Left, "right": joincore.Right,
	"full": joincore.Full, "semi": joincore.Semi, "anti": joincore.Anti,
}

var classes = map[string]joincore.KeyClass{
	"int": joincore.KeyInt, "bytes": joincore.KeyBytes, "varlena": joincore.KeyVarlena,
}

// node builds an operator and those below it. joincore.Check checks inputs, columns and types.
func (j *Job) node(w *wireNode) (joincore.Node, error) {
	if w == nil {
		return nil, fmt.Errorf("missing")
	}
	build, members := j.scan, []string{"input"}
	switch w.Op {
	case "scan":
	case "filter":
		build, members = j.filter, []string{"child", "predicate"}
	case "aggregate":
		build, members = j.aggregate, []string{"id", "rows", "keys", "carry", "functions", "child"}
	case "join":
		build, members = j.join, []string{"kind", "rows", "left", "right", "keys", "residual"}
	case "project":
		return nil, fmt.Errorf("project is allowed only at the root")
	default:
		return nil, fmt.Errorf("unknown operator %q", w.Op)
	}
	if err := w.only(members...); err != nil {
		return nil, err
	}
	return build(w)
}

// child builds a member of another operator.
func (j *Job) child(name string, w *wireNode) (joincore.Node, error) {
	n, err := j.node(w)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return n, nil
}

func (j *Job) scan(w *wireNode) (joincore.Node, error) {
	if w.Input == nil {
		return nil, fmt.Errorf("a scan needs an input")
	}
	return &joincore.Scan{Input: *w.Input}, nil
}

func (j *Job) filter(w *wireNode) (joincore.Node, error) {
	child, err := j.child("child", w.Child)
	if err != nil {
		return nil, err
	}
	if w.Predicate == nil {
		return nil, fmt.Errorf("a filter needs a predicate")
	}
	predicate, err := j.expr(w.Predicate)
	if err != nil {
		return nil, fmt.Errorf("predicate: %w", err)
	}
	return &joincore.Filter{Child: child, Predicate: predicate}, nil
}

func (j *Job) join(w *wireNode) (joincore.Node, error) {
	out := &joincore.Join{Kind: kinds[w.Kind]}
	if out.Kind == 0 {
		return nil, fmt.Errorf("unknown join kind %q", w.Kind)
	}
	var err error
	if out.Rows, err = rows(w.Rows); err != nil {
		return nil, err
	}
	if out.Left, err = j.child("left", w.Left); err != nil {
		return nil, err
	}
	if out.Right, err = j.child("right", w.Right); err != nil {
		return nil, err
	}
	if len(w.Keys) == 0 || len(w.Keys) > MaxColumns {
		return nil, fmt.Errorf("a join needs 1 to %d keys, not %d", MaxColumns, len(w.Keys))
	}
	for i, raw := range w.Keys {
		k, err := keyPair(raw)
		if err != nil {
			return nil, fmt.Errorf("keys[%d]: %w", i, err)
		}
		out.Keys = append(out.Keys, k)
	}
	if w.Residual != nil {
		if out.Residual, err = j.expr(w.Residual); err != nil {
			return nil, fmt.Errorf("residual: %w", err)
		}
	}
	return out, nil
}

func keyPair(raw []byte) (k joincore.KeyPair, err error) {
	var w wireKey
	if err := decodeStrict(raw, &w); err != nil {
		return k, err
	}
	if k.Class = classes[w.Class]; k.Class == 0 {
		return k, fmt.Errorf("class %q cannot compare columns", w.Class)
	}
	if k.Left, err = column(w.Left); err != nil {
		return k, fmt.Errorf("left: %w", err)
	}
	if k.Right, err = column(w.Right); err != nil {
		return k, fmt.Errorf("right: %w", err)
	}
	return k, nil
}

func column(w *wireRef) (joincore.ColumnRef, error) {
	if w == nil || w.Input == nil || w.Column == nil {
		return joincore.ColumnRef{}, fmt.Errorf("a column must have the fields input and column")
	}
	return joincore.ColumnRef{Input: *w.Input, Column: *w.Column}, nil
}

// columns builds a list. Its error begins with the position in the list.
func columns(list []*wireRef) (out []joincore.ColumnRef, err error) {
	for i, w := range list {
		c, err := column(w)
		if err != nil {
			return nil, fmt.Errorf("[%d]: %w", i, err)
		}
		out = append(out, c)
	}
	return out, nil
}

// keyOnly says whether a column is a key form, or one that an aggregate takes over from its
// child. Key forms are never returned.
func (j *Job) keyOnly(c joincore.ColumnRef) bool {
	if c.Input < len(j.Inputs) {
		return j.Inputs[c.Input].Columns[c.Column].KeyOnly
	}
	a := j.aggregates[c.Input-len(j.Inputs)]
	if c.Column < len(a.Keys) {
		ref, ok := a.Keys[c.Column].(joincore.ColumnRef)
		return ok && j.keyOnly(ref)
	}
	carried := c.Column - len(a.Keys)
	return carried < len(a.Carry) && j.keyOnly(a.Carry[carried])
}

// rows returns the planner's estimate of a node's rows, 0 for none.
func rows(w *float64) (float64, error) {
	switch {
	case w == nil:
		return 0, nil
	case !estimate(*w):
		return 0, fmt.Errorf("rows must be finite and not negative")
	}
	return *w, nil
}

// only returns an error if w has members other than op and those named.
func (w *wireNode) only(allowed ...string) error {
	have := map[string]bool{
		"input": w.Input != nil, "child": w.Child != nil, "predicate": w.Predicate != nil,
		"kind": w.Kind != "", "rows": w.Rows != nil, "left": w.Left != nil, "right": w.Right != nil,
		"keys": w.Keys != nil, "residual": w.Residual != nil, "columns": w.Columns != nil,
		"id": w.ID != nil, "carry": w.Carry != nil, "functions": w.Functions != nil,
	}
	for _, name := range allowed {
		delete(have, name)
	}
	for name, there := range have {
		if there {
			return fmt.Errorf("%s has no member %q", w.Op, name)
		}
	}
	return nil
}

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
