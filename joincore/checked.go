package joincore

import (
	"fmt"
	"slices"
)

// Checked is a plan that can be executed: all that it reads exists, is visible there and has
// the type that is needed. Only Check makes one, where a plan enters or where one has been
// made of another. The plan does not change after that, but for the values of parameters and
// for lists of integers, on which nothing of this depends.
type Checked struct {
	*plan
	schema Schema
}

// plan is a Plan that only this package can make a Checked of.
type plan = Plan

// Schema returns the columns of all inputs of the plan.
func (p *Checked) Schema() Schema { return p.schema }

// Schema describes the columns of all inputs of a plan by their numbers: the
// base inputs, then the derived ones.
type Schema [][]Column

// Column describes a column of an input that the schema has.
func (s Schema) Column(c ColumnRef) Column { return s[c.Input][c.Column] }

// Scope returns the scope of expressions of the plan where column describes
// the columns that they may read.
func (p *Plan) Scope(column func(ColumnRef) (Column, error)) *Scope {
	return &Scope{Column: column, Derived: p.Derived, Parameters: len(p.Parameters)}
}

// Derived reports whether an input is the result of an aggregate: of the plan, or of
// an earlier one.
func (p *Plan) Derived(input int) bool { return input >= len(p.Inputs) || p.Inputs[input].Derived }

var errPlan = fmt.Errorf("plan: %w", ErrInvalid)

// Check checks a plan. Errors wrap ErrInvalid, and say where in the plan something is not as
// it must be.
func Check(p *Plan) (*Checked, error) {
	if p.Algorithm != 0 && !slices.Contains(Algorithms[:], p.Algorithm) {
		return nil, fmt.Errorf("%w: unknown algorithm %d", errPlan, p.Algorithm)
	}
	v := &checker{plan: p, schema: make(Schema, len(p.Inputs)+len(Aggregates(p.Root))), scanned: make([]bool, len(p.Inputs))}
	for i := range p.Inputs {
		v.schema[i] = p.Inputs[i].Columns
	}
	visible, err := v.node(p.Root)
	if err != nil {
		return nil, fmt.Errorf("plan: root: %w", err)
	}
	if i := slices.Index(v.scanned, false); i >= 0 {
		return nil, fmt.Errorf("%w: input %d is not scanned", errPlan, i)
	}
	for i, c := range p.Output {
		if err := v.column(c, visible); err != nil {
			return nil, fmt.Errorf("plan: output[%d]: %w", i, err)
		}
	}
	own := *p
	return &Checked{&own, v.schema}, nil
}

// CheckInputs returns an error that wraps ErrInvalid unless relations are as the plan
// describes its inputs.
func (p *Checked) CheckInputs(inputs []*Relation) error {
	if len(inputs) != len(p.Inputs) {
		return fmt.Errorf("%w: %d relations for %d inputs", errPlan, len(inputs), len(p.Inputs))
	}
	for i, r := range inputs {
		if r == nil || !slices.Equal(r.Columns, p.Inputs[i].Columns) {
			return fmt.Errorf("%w: relation %d is not as described", errPlan, i)
		}
	}
	return nil
}

// checker checks a plan from the leaves up.
type checker struct {
	plan    *Plan
	schema  Schema // of derived inputs those that are checked
	scanned []bool
}

// node returns the inputs whose columns are visible above it.
func (v *checker) node(n Node) ([]int, error) {
	switch n := n.(type) {
	case *Scan:
		if n == nil || n.Input < 0 || n.Input >= len(v.scanned) {
			return nil, fmt.Errorf("%w: scan of an input that does not exist", ErrInvalid)
		}
		if v.scanned[n.Input] {
			return nil, fmt.Errorf("%w: input %d is scanned twice", ErrInvalid, n.Input)
		}
		v.scanned[n.Input] = true
		return []int{n.Input}, nil
	case *Filter:
		visible, err := v.below("child", n.Child)
		if err != nil {
			return nil, err
		}
		return visible, v.condition("predicate", n.Predicate, visible)
	case *Join:
		return v.join(n)
	case *Aggregate:
		return v.aggregate(n)
	}
	return nil, fmt.Errorf("%w: node %T", ErrInvalid, n)
}

// below is node of a child.
func (v *checker) below(name string, n Node) ([]int, error) {
	visible, err := v.node(n)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return visible, nil
}

func (v *checker) aggregate(n *Aggregate) ([]int, error) {
	visible, err := v.below("child", n.Child)
	if err != nil {
		return nil, err
	}
	if n.ID < len(v.plan.Inputs) || n.ID >= len(v.schema) || v.schema[n.ID] != nil {
		return nil, fmt.Errorf("%w: derived input %d", ErrInvalid, n.ID)
	}
	columns, err := n.Columns(v.scope(visible))
	if err != nil {
		return nil, fmt.Errorf("aggregate %d: %w", n.ID, err)
	}
	v.schema[n.ID] = columns
	return []int{n.ID}, nil
}

func (v *checker) join(j *Join) ([]int, error) {
	left, err := v.below("left", j.Left)
	if err != nil {
		return nil, err
	}
	right, err := v.below("right", j.Right)
	if err != nil {
		return nil, err
	}
	if j.Kind < Inner || j.Kind > Anti {
		return nil, fmt.Errorf("%w: join kind %d", ErrInvalid, j.Kind)
	}
	for i, k := range j.Keys {
		if err := v.key(k, left, right); err != nil {
			return nil, fmt.Errorf("keys[%d]: %w", i, err)
		}
	}
	both := slices.Concat(left, right)
	if j.Residual != nil {
		if err := v.condition("residual", j.Residual, both); err != nil {
			return nil, err
		}
	}
	if j.Kind == Semi || j.Kind == Anti {
		return left, nil
	}
	return both, nil
}

func (v *checker) key(k KeyPair, left, right []int) error {
	if err := v.column(k.Left, left); err != nil {
		return fmt.Errorf("left: %w", err)
	}
	if err := v.column(k.Right, right); err != nil {
		return fmt.Errorf("right: %w", err)
	}
	if !k.Class.Compares(v.schema.Column(k.Left), v.schema.Column(k.Right)) {
		return fmt.Errorf("%w: key class %d cannot compare these columns", ErrInvalid, k.Class)
	}
	return nil
}

func (v *checker) column(c ColumnRef, visible []int) error {
	switch {
	case !slices.Contains(visible, c.Input):
		return fmt.Errorf("%w: input %d is not below this node", ErrInvalid, c.Input)
	case c.Column < 0 || c.Column >= len(v.schema[c.Input]):
		return fmt.Errorf("%w: input %d has no column %d", ErrInvalid, c.Input, c.Column)
	}
	return nil
}

// condition checks a condition over the rows of a node.
func (v *checker) condition(name string, e Expr, visible []int) error {
	if err := v.scope(visible).Check(e); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// scope is that of the expressions over the rows of a node.
func (v *checker) scope(visible []int) *Scope {
	return v.plan.Scope(func(c ColumnRef) (Column, error) {
		if err := v.column(c, visible); err != nil {
			return Column{}, err
		}
		return v.schema.Column(c), nil
	})
}
