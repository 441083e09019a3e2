//go:build cuda

package cuda

import (
	"context"

	"gpujoin/joincore"
	"gpujoin/joincore/cuda/driver"
	"gpujoin/joincore/device"
)

// Filter returns a space of the rows for which a condition is true. Its memory
// is on top of the stack until it is released.
func (e *execution) Filter(ctx context.Context, from device.Space, condition joincore.Expr, parameters []joincore.Parameter, keep device.Keep) (device.Space, error) {
	source, arena := e.space(from), e.workspace.arena
	mark := arena.Mark()
	out, err := e.filter(ctx, source, condition, parameters, keep)
	if err != nil {
		arena.Rewind(mark)
		return nil, err
	}
	out.free = func() { arena.Rewind(mark) }
	return out, nil
}

func (e *execution) filter(ctx context.Context, from *space, condition joincore.Expr, parameters []joincore.Parameter, keep device.Keep) (*space, error) {
	chosen, rows, err := e.choose(from.rows, func(to driver.Ptr) (int64, error) {
		return e.workspace.main.Filter(ctx, e.side(ctx, from), condition, parameters, to)
	})
	if err != nil {
		return nil, err
	}
	out := e.workspace.newSpace(rows)
	return out, out.pick(from, chosen, keep)
}

// choose allocates memory for at most most row ids, which step writes, and
// keeps only the part that step has filled: step returns how many it has written.
func (e *execution) choose(most int64, step func(to driver.Ptr) (int64, error)) (chosen driver.Ptr, rows int64, err error) {
	arena := e.workspace.arena
	mark := arena.Mark()
	if chosen, err = arena.Take(4 * most); err != nil {
		return 0, 0, err
	}
	defer arena.Hold()() // chosen stays where it is
	if rows, err = step(chosen); err != nil {
		return 0, 0, err
	}
	arena.Rewind(mark)
	chosen, err = arena.Take(4 * rows) // the same place, as much as it needs
	return chosen, rows, err
}
