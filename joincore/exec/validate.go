package exec

import (
	"fmt"
	"slices"

	"gpujoin/joincore"
)

// validate rejects plans that cannot be executed, so that the rest of the
// package can rely on references.
func validate(plan *joincore.Plan, inputs []*joincore.Relation) error {
	if len(inputs) != len(plan.Inputs) {
		return fmt.Errorf("%w: %d relations for %d inputs", errPlan, len(inputs), len(plan.Inputs))
	}
	for i, r := range inputs {
		if r == nil || !slices.Equal(r.Columns, plan.Inputs[i].Columns) {
			return fmt.Errorf("%w: relation %d is not as described", errPlan, i)
		}
	}
	if plan.Algorithm != 0 && !slices.Contains(joincore.Algorithms[:], plan.Algorithm) {
		return fmt.Errorf("%w: unknown algorithm %d", errPlan, plan.Algorithm)
	}
	v := newValidator(plan)
	visible, err := v.node(plan.Root)
	if err != nil {
		return err
	}
	slices.Sort(v.scanned)
	for i := range plan.Inputs {
		if i >= len(v.scanned) || v.scanned[i] != i || len(v.scanned) != len(plan.Inputs) {
			return fmt.Errorf("%w: inputs and scans differ", errPlan)
		}
	}
	for _, c := range plan.Output {
		if err := v.column(c, visible); err != nil {
			return err
		}
	}
	return nil
}

// validator checks a plan from the leaves up.
type validator struct {
	plan    *joincore.Plan
	schema  joincore.Schema // of derived inputs those that are checked
	scanned []int
}

func newValidator(plan *joincore.Plan) *validator {
	v := &validator{plan: plan, schema: make(joincore.Schema, len(plan.Inputs)+len(joincore.Aggregates(plan.Root)))}
	for i := range plan.Inputs {
		v.schema[i] = plan.Inputs[i].Columns
	}
	return v
}

// node returns the inputs whose columns are visible above it.
func (v *validator) node(n joincore.Node) ([]int, error) {
	switch n := n.(type) {
	case *joincore.Scan:
		if n == nil || n.Input < 0 || n.Input >= len(v.plan.Inputs) {
			return nil, fmt.Errorf("%w: scan of an unknown input", errPlan)
		}
		v.scanned = append(v.scanned, n.Input)
		return []int{n.Input}, nil
	case *joincore.Filter:
		visible, err := v.node(n.Child)
		if err != nil {
			return nil, err
		}
		return visible, v.expression(n.Predicate, visible)
	case *joincore.Join:
		return v.join(n)
	case *joincore.Aggregate:
		return v.aggregate(n)
	}
	return nil, fmt.Errorf("%w: node %T", errPlan, n)
}

func (v *validator) aggregate(n *joincore.Aggregate) ([]int, error) {
	visible, err := v.node(n.Child)
	if err != nil {
		return nil, err
	}
	if n.ID < len(v.plan.Inputs) || n.ID >= len(v.schema) || v.schema[n.ID] != nil {
		return nil, fmt.Errorf("%w: derived input %d", errPlan, n.ID)
	}
	columns, err := n.Columns(v.scope(visible))
	if err != nil {
		return nil, fmt.Errorf("plan: aggregate %d: %w", n.ID, err)
	}
	v.schema[n.ID] = columns
	return []int{n.ID}, nil
}

func (v *validator) join(j *joincore.Join) ([]int, error) {
	left, err := v.node(j.Left)
	if err != nil {
		return nil, err
	}
	right, err := v.node(j.Right)
	if err != nil {
		return nil, err
	}
	if j.Kind < joincore.Inner || j.Kind > joincore.Anti {
		return nil, fmt.Errorf("%w: join kind %d", errPlan, j.Kind)
	}
	for _, k := range j.Keys {
		if err := v.key(k, left, right); err != nil {
			return nil, err
		}
	}
	both := slices.Concat(left, right)
	if j.Residual != nil {
		if err := v.expression(j.Residual, both); err != nil {
			return nil, err
		}
	}
	if j.Kind == joincore.Semi || j.Kind == joincore.Anti {
		return left, nil
	}
	return both, nil
}

func (v *validator) key(k joincore.KeyPair, left, right []int) error {
	if err := v.column(k.Left, left); err != nil {
		return err
	}
	if err := v.column(k.Right, right); err != nil {
		return err
	}
	a, b := v.columnOf(k.Left), v.columnOf(k.Right)
	ok := false
	switch k.Class {
	case joincore.KeyInt:
		ok = isInt(a) && isInt(b)
	case joincore.KeyBytes:
		ok = a.Kind == joincore.Fixed && b.Kind == joincore.Fixed && a.Width == b.Width
	case joincore.KeyVarlena:
		ok = a.Kind == joincore.Varlena && b.Kind == joincore.Varlena
	}
	if !ok {
		return fmt.Errorf("%w: key class %d of columns %v and %v", errPlan, k.Class, k.Left, k.Right)
	}
	return nil
}

func isInt(c joincore.Column) bool {
	return c.Kind == joincore.Fixed && (c.Width == 1 || c.Width == 2 || c.Width == 4 || c.Width == 8)
}

func (v *validator) columnOf(c joincore.ColumnRef) joincore.Column {
	return v.schema.Column(c)
}

func (v *validator) column(c joincore.ColumnRef, visible []int) error {
	if !slices.Contains(visible, c.Input) || c.Column < 0 || c.Column >= len(v.schema[c.Input]) {
		return fmt.Errorf("%w: no column %v here", errPlan, c)
	}
	return nil
}

// expression checks a condition over the rows of a node.
func (v *validator) expression(e joincore.Expr, visible []int) error {
	if err := v.scope(visible).Check(e); err != nil {
		return fmt.Errorf("plan: %w", err)
	}
	return nil
}

// scope is that of the expressions over the rows of a node.
func (v *validator) scope(visible []int) *joincore.Scope {
	return v.plan.Scope(func(c joincore.ColumnRef) (joincore.Column, error) {
		if err := v.column(c, visible); err != nil {
			return joincore.Column{}, err
		}
		return v.columnOf(c), nil
	})
}
