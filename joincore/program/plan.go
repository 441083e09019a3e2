package program

import (
	"fmt"

	"gpujoin/joincore"
)

// CheckPlan returns an error that wraps ErrUnsupported where devices that run these
// programs cannot execute a part of a plan.
func CheckPlan(plan *joincore.Checked) error {
	schema := plan.Schema()
	c := &planCheck{plan: plan, schema: schema, fetched: map[joincore.ColumnRef]bool{}}
	for _, a := range joincore.Aggregates(plan.Root) {
		for i := range a.Carry {
			ref := joincore.ColumnRef{Input: a.ID, Column: len(a.Keys) + i}
			c.fetched[ref] = !gathered(schema.Column(ref))
		}
	}
	for n := range joincore.Nodes(plan.Root) {
		if err := c.node(n); err != nil {
			return err
		}
	}
	return nil
}

type planCheck struct {
	plan   *joincore.Checked
	schema joincore.Schema
	// fetched are the columns of groups that the host fetches at the end: carried ones
	// that kernels do not gather. Steps above the groups cannot read them.
	fetched map[joincore.ColumnRef]bool
}

// gathered reports whether kernels gather the values of a column.
func gathered(c joincore.Column) bool {
	return c.Kind == joincore.Fixed && (c.Width <= 8 || c.Width == 16)
}

// reads checks the columns that a step reads.
func (c *planCheck) reads(what string, columns ...joincore.ColumnRef) error {
	for _, ref := range columns {
		if c.fetched[ref] {
			return unsupported("%s over a carried column that the host fetches", what)
		}
	}
	return nil
}

// node checks a node of which those below are checked.
func (c *planCheck) node(n joincore.Node) error {
	switch n := n.(type) {
	case *joincore.Filter:
		return c.condition("filter", n.Predicate)
	case *joincore.Join:
		for _, k := range n.Keys {
			if err := c.reads("join", k.Left, k.Right); err != nil {
				return err
			}
		}
		if n.Residual == nil {
			return nil
		}
		return c.condition("join condition", n.Residual)
	case *joincore.Aggregate:
		if _, err := NewGroups(nil, n.Keys, n.Functions, c.schema[n.ID], checked(c.schema.Column, len(c.plan.Parameters))); err != nil {
			return fmt.Errorf("aggregate: %w", err)
		}
		own := *n
		own.Carry = nil
		return c.reads("aggregate", joincore.AggregateColumns(&own)...)
	}
	return nil
}

func (c *planCheck) condition(what string, e joincore.Expr) error {
	if err := Check(e, c.schema.Column, len(c.plan.Parameters)); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return c.reads(what, joincore.Columns(e)...)
}
