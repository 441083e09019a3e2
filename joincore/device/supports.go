package device

import (
	"fmt"

	"gpujoin/joincore"
)

// Checker is a provider that does not execute every plan.
type Checker interface {
	// Check returns an error that wraps ErrUnsupported where the provider
	// cannot execute a plan, before it is opened. The plan is valid.
	Check(plan *joincore.Plan) error
}

// Check asks a provider whether it executes a plan; one that is no Checker
// executes all.
func Check(p Provider, plan *joincore.Plan) error {
	if c, ok := p.(Checker); ok {
		return c.Check(plan)
	}
	return nil
}

// OnlyComparisons returns an error that wraps ErrUnsupported where a plan
// holds more than scans, joins and filters, or a condition more than
// comparisons of integer columns, constants and parameters, and whether a
// column is NULL.
func OnlyComparisons(plan *joincore.Plan) error {
	return comparisons{plan}.node(plan.Root)
}

// comparisons checks the nodes below before the conditions on their rows: these
// read base inputs only, where there are no other nodes.
type comparisons struct{ plan *joincore.Plan }

func (c comparisons) node(n joincore.Node) error {
	switch n := n.(type) {
	case *joincore.Scan:
		return nil
	case *joincore.Filter:
		if err := c.node(n.Child); err != nil {
			return err
		}
		return c.condition(n.Predicate)
	case *joincore.Join:
		if err := c.node(n.Left); err != nil {
			return err
		}
		if err := c.node(n.Right); err != nil || n.Residual == nil {
			return err
		}
		return c.condition(n.Residual)
	}
	return fmt.Errorf("plan node %T: %w", n, joincore.ErrUnsupported)
}

func (c comparisons) condition(e joincore.Expr) error {
	switch e := e.(type) {
	case *joincore.And:
		return c.conditions(e.Args)
	case *joincore.Or:
		return c.conditions(e.Args)
	case *joincore.Not:
		return c.condition(e.Arg)
	case *joincore.IsNull:
		if _, ok := e.Arg.(joincore.ColumnRef); ok {
			return nil
		}
		return fmt.Errorf("whether a %T is NULL: %w", e.Arg, joincore.ErrUnsupported)
	case *joincore.Compare:
		if err := c.operand(e.Left); err != nil {
			return err
		}
		return c.operand(e.Right)
	}
	return fmt.Errorf("condition %T: %w", e, joincore.ErrUnsupported)
}

func (c comparisons) conditions(args []joincore.Expr) error {
	for _, a := range args {
		if err := c.condition(a); err != nil {
			return err
		}
	}
	return nil
}

func (c comparisons) operand(v joincore.Value) error {
	switch v := v.(type) {
	case joincore.Int, joincore.ParameterIndex:
		return nil
	case joincore.ColumnRef:
		if column := c.plan.Inputs[v.Input].Columns[v.Column]; column.Kind == joincore.Fixed {
			return nil
		}
		return fmt.Errorf("comparison of bytes: %w", joincore.ErrUnsupported)
	}
	return fmt.Errorf("value %T: %w", v, joincore.ErrUnsupported)
}
