package program

import (
	"fmt"

	"gpujoin/joincore"
)

// CheckPlan returns an error that wraps ErrUnsupported where devices that run these
// programs cannot execute a part of a plan, which is valid.
func CheckPlan(plan *joincore.Plan) error {
	schema, err := plan.Schema()
	if err != nil {
		return err
	}
	return (&planCheck{plan, schema}).node(plan.Root)
}

type planCheck struct {
	plan   *joincore.Plan
	schema joincore.Schema
}

func (c *planCheck) node(n joincore.Node) error {
	switch n := n.(type) {
	case *joincore.Scan:
		return nil
	case *joincore.Filter:
		if err := c.node(n.Child); err != nil {
			return err
		}
		return c.condition("filter", n.Predicate)
	case *joincore.Join:
		if err := c.node(n.Left); err != nil {
			return err
		}
		if err := c.node(n.Right); err != nil || n.Residual == nil {
			return err
		}
		return c.condition("join condition", n.Residual)
	case *joincore.Aggregate:
		if err := c.node(n.Child); err != nil {
			return err
		}
		if _, err := NewGroups(nil, n.Keys, n.Functions, c.schema[n.ID], checked(c.schema.Column, len(c.plan.Parameters))); err != nil {
			return fmt.Errorf("aggregate: %w", err)
		}
		return nil
	}
	return unsupported("plan node %T", n)
}

func (c *planCheck) condition(what string, e joincore.Expr) error {
	if err := Check(e, c.schema.Column, len(c.plan.Parameters)); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}
