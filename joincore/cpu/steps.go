//go:build amd64 || arm64

package cpu

import "context"

// stepRows is how many rows are worked on between two looks at the context
// where the work does not come in chunks: at most some milliseconds of it.
const stepRows = 1 << 20

// stopped returns why the work is to end; nil: it is not.
func stopped(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

// yield is called after each chunk by a goroutine that has a turn: it lets
// others go first that should, and returns why the work is to end.
func (st *stream) yield(ctx context.Context) error {
	st.dev.turns.Yield(ctx)
	return stopped(ctx)
}

// inSteps calls f for ranges of at most stepRows that make up [0, n), in order,
// until ctx is done.
func inSteps(ctx context.Context, n int, f func(from, to int)) error {
	for from := 0; from < n; from += stepRows {
		if err := stopped(ctx); err != nil {
			return err
		}
		f(from, min(from+stepRows, n))
	}
	return nil
}

// zero clears v, which may be as large as memory.
func zero[T word](ctx context.Context, v []T) error {
	return inSteps(ctx, len(v), func(from, to int) { clear(v[from:to]) })
}
