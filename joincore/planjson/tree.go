package planjson

import (
	"fmt"

	"gpujoin/joincore"
)

// tree builds the operators of one job.
type tree struct {
	job     *Job
	scanned []bool
	derived []derived // results of aggregates, numbered after the inputs
	inputs  []int     // inputs whose columns are visible, in the order of their scans
}

var kinds = map[string]joincore.Kind{
	"inner": joincore.Inner, "left": joincore.Left, "right": joincore.Right,
	"full": joincore.Full, "semi": joincore.Semi, "anti": joincore.Anti,
}

var classes = map[string]joincore.KeyClass{
	"int": joincore.KeyInt, "bytes": joincore.KeyBytes, "varlena": joincore.KeyVarlena,
}

// node builds w. at is its position in the job, for errors.
func (t *tree) node(w *wireNode, at string) (joincore.Node, error) {
	if w == nil {
		return nil, fmt.Errorf("%s: missing", at)
	}
	var n joincore.Node
	var err error
	switch w.Op {
	case "scan":
		if err = w.only("input"); err == nil {
			n, err = t.scan(w)
		}
	case "filter":
		if err = w.only("child", "predicate"); err == nil {
			return t.filter(w, at)
		}
	case "aggregate":
		if err = w.only("id", "rows", "keys", "carry", "functions", "child"); err == nil {
			return t.aggregate(w, at)
		}
	case "join":
		if err = w.only("kind", "rows", "left", "right", "keys", "residual"); err == nil {
			return t.join(w, at)
		}
	case "project":
		err = fmt.Errorf("project is allowed only at the root")
	default:
		err = fmt.Errorf("unknown operator %q", w.Op)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", at, err)
	}
	return n, nil
}

func (t *tree) scan(w *wireNode) (joincore.Node, error) {
	if w.Input == nil || *w.Input < 0 || *w.Input >= len(t.scanned) {
		return nil, fmt.Errorf("scan of an input that does not exist")
	}
	if t.scanned[*w.Input] {
		return nil, fmt.Errorf("input %d is scanned twice", *w.Input)
	}
	t.scanned[*w.Input] = true
	t.inputs = append(t.inputs, *w.Input)
	return &joincore.Scan{Input: *w.Input}, nil
}

func (t *tree) filter(w *wireNode, at string) (joincore.Node, error) {
	first := len(t.inputs)
	child, err := t.node(w.Child, at+".child")
	if err != nil {
		return nil, err
	}
	if w.Predicate == nil {
		return nil, fmt.Errorf("%s: a filter needs a predicate", at)
	}
	pred, err := t.condition(w.Predicate, t.inputs[first:])
	if err != nil {
		return nil, fmt.Errorf("%s.predicate: %w", at, err)
	}
	return &joincore.Filter{Child: child, Predicate: pred}, nil
}

func (t *tree) join(w *wireNode, at string) (joincore.Node, error) {
	j := &joincore.Join{Kind: kinds[w.Kind]}
	if j.Kind == 0 {
		return nil, fmt.Errorf("%s: unknown join kind %q", at, w.Kind)
	}
	var err error
	if j.Rows, err = rows(w.Rows); err != nil {
		return nil, fmt.Errorf("%s: %w", at, err)
	}
	first := len(t.inputs)
	if j.Left, err = t.node(w.Left, at+".left"); err != nil {
		return nil, err
	}
	middle := len(t.inputs)
	if j.Right, err = t.node(w.Right, at+".right"); err != nil {
		return nil, err
	}
	left, right := t.inputs[first:middle], t.inputs[middle:]
	if len(w.Keys) == 0 || len(w.Keys) > MaxColumns {
		return nil, fmt.Errorf("%s: a join needs 1 to %d keys, not %d", at, MaxColumns, len(w.Keys))
	}
	for i := range w.Keys {
		var wk wireKey
		if err := decodeStrict(w.Keys[i], &wk); err != nil {
			return nil, fmt.Errorf("%s.keys[%d]: %w", at, i, err)
		}
		k, err := t.key(&wk, left, right)
		if err != nil {
			return nil, fmt.Errorf("%s.keys[%d]: %w", at, i, err)
		}
		j.Keys = append(j.Keys, k)
	}
	if w.Residual != nil {
		if j.Residual, err = t.condition(w.Residual, t.inputs[first:]); err != nil {
			return nil, fmt.Errorf("%s.residual: %w", at, err)
		}
	}
	if j.Kind == joincore.Semi || j.Kind == joincore.Anti {
		t.inputs = t.inputs[:middle] // the right side's columns are not visible above
	}
	return j, nil
}

func (t *tree) key(w *wireKey, left, right []int) (joincore.KeyPair, error) {
	k := joincore.KeyPair{Class: classes[w.Class]}
	var err error
	if k.Left, err = t.ref(w.Left, left); err != nil {
		return k, fmt.Errorf("left: %w", err)
	}
	if k.Right, err = t.ref(w.Right, right); err != nil {
		return k, fmt.Errorf("right: %w", err)
	}
	l, r := t.column(k.Left), t.column(k.Right)
	if !k.Class.Compares(l, r) || k.Class == joincore.KeyVarlena && l.Align != r.Align {
		return k, fmt.Errorf("class %q cannot compare these columns", w.Class)
	}
	return k, nil
}

// ref checks that w names a column of one of the inputs in scope.
func (t *tree) ref(w *wireRef, scope []int) (joincore.ColumnRef, error) {
	if w == nil || w.Input == nil || w.Column == nil {
		return joincore.ColumnRef{}, fmt.Errorf("a column must have the fields input and column")
	}
	for _, i := range scope {
		if i == *w.Input {
			if *w.Column < 0 || *w.Column >= len(t.columns(i)) {
				return joincore.ColumnRef{}, fmt.Errorf("input %d has no column %d", i, *w.Column)
			}
			return joincore.ColumnRef{Input: i, Column: *w.Column}, nil
		}
	}
	return joincore.ColumnRef{}, fmt.Errorf("input %d is not below this node", *w.Input)
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

// output sets the plan's output columns.
func (t *tree) output(columns []*wireRef) error {
	if len(columns) > MaxColumns {
		return fmt.Errorf("root.columns: has %d columns, may have at most %d", len(columns), MaxColumns)
	}
	for i, w := range columns {
		r, err := t.ref(w, t.inputs)
		if err != nil {
			return fmt.Errorf("root.columns[%d]: %w", i, err)
		}
		if t.keyOnly(r) {
			return fmt.Errorf("root.columns[%d]: a column with the role key cannot be returned", i)
		}
		t.job.plan.Output = append(t.job.plan.Output, r)
	}
	return nil
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
