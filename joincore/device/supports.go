package device

import "gpujoin/joincore"

// Checker is a provider that does not execute every plan.
type Checker interface {
	// Check returns an error that wraps ErrUnsupported where the provider
	// cannot execute a plan, before it is opened.
	Check(plan *joincore.Checked) error
}

// Check asks a provider whether it executes a plan; one that is no Checker
// executes all.
func Check(p Provider, plan *joincore.Checked) error {
	if c, ok := p.(Checker); ok {
		return c.Check(plan)
	}
	return nil
}
