package e2e

import (
	"context"
	"fmt"
	"time"

	"gpujoin/tests/harness"
	"gpujoin/tests/measure"
)

// cancelJoin checks that a cancelled statement ends within a second.
func cancelJoin(ctx context.Context, f *faulty) ([]string, error) {
	var took time.Duration // without cancellation
	for range 2 {          // the first run warms up
		begin := time.Now()
		if _, err := f.right(ctx, manyRows); err != nil {
			return nil, err
		}
		took = time.Since(begin)
	}
	slack := time.Duration(0)
	for _, share := range []float64{0.2, 0.5, 0.8} {
		late, err := f.cancelAfter(ctx, time.Duration(share*float64(took)))
		if err != nil {
			return nil, err
		}
		slack = max(slack, late)
	}
	if slack > time.Second {
		return nil, fmt.Errorf("it ended %v late", slack)
	}
	return []string{fmt.Sprintf("ended at most %.0f ms late", measure.Ms(slack))}, f.recovered(ctx)
}

// cancelAfter runs a query, cancels it after the given time, and returns how long it
// continued; negative: it had ended before.
func (f *faulty) cancelAfter(ctx context.Context, wait time.Duration) (time.Duration, error) {
	var at time.Time
	cancelled := make(chan error, 1)
	time.AfterFunc(wait, func() {
		at = time.Now()
		cancelled <- f.witness.Exec(ctx, fmt.Sprintf("select pg_cancel_backend(%d)", f.session.PID()))
	})
	_, err := f.session.Query(ctx, manyRows)
	end := time.Now()
	if err := <-cancelled; err != nil {
		return 0, err
	}
	if err != nil && harness.SQLState(err) != "57014" {
		return 0, err
	}
	return end.Sub(at), nil
}

// exhaust runs joins on a device with less memory than inputs and result need.
func exhaust(ctx context.Context, f *faulty) ([]string, error) {
	provider, err := f.right(ctx, manyRows)
	if err != nil {
		return nil, err
	}
	return []string{"right rows, of " + provider}, nil
}
