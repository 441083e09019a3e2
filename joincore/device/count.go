package device

import "context"

// Count is a number that the device may still be computing.
type Count struct {
	known int64
	wait  func(context.Context) (int64, error)
}

// Known is a count that is there already.
func Known(n int64) Count { return Count{known: n} }

// Pending is a count that wait waits for.
func Pending(wait func(context.Context) (int64, error)) Count { return Count{wait: wait} }

// Wait returns the number. Everything that was asked of the same stream before
// is then done, and its error, where it had one, is returned here.
func (c Count) Wait(ctx context.Context) (int64, error) {
	if c.wait != nil {
		return c.wait(ctx)
	}
	return c.known, nil
}
