package cpu

import "context"

// stepRows is the number of rows between two checks of the context in work that is
// not divided into chunks: at most a few milliseconds.
const stepRows = 1 << 20

// stopped returns the reason to end the work, or nil.
func stopped(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

// yield is called after each chunk by a goroutine that has a turn. It lets waiting
// goroutines with precedence go first, and returns the reason to end the work, or nil.
func (st *stream) yield(ctx context.Context) error {
	st.dev.turns.Yield(ctx)
	return stopped(ctx)
}

// inSteps calls f for consecutive ranges of at most stepRows that cover [0, n), until
// ctx is done.
func inSteps(ctx context.Context, n int, f func(from, to int)) error {
	for from := 0; from < n; from += stepRows {
		if err := stopped(ctx); err != nil {
			return err
		}
		f(from, min(from+stepRows, n))
	}
	return nil
}

// zero clears v, of any size, until ctx is done.
func zero[T any](ctx context.Context, v []T) error {
	return inSteps(ctx, len(v), func(from, to int) { clear(v[from:to]) })
}
