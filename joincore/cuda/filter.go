//go:build cuda

package cuda

import (
	"context"

	"gpujoin/joincore"
	"gpujoin/joincore/device"
)

// Filter makes a space of the rows for which a condition is true. Its memory
// is the top of the stack until it is released.
func (e *execution) Filter(ctx context.Context, from device.Space, condition joincore.Expr, parameters []joincore.Parameter, keep device.Keep) (device.Space, error) {
	source, arena := e.space(from), e.site.arena
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
	arena := e.site.arena
	mark := arena.Mark()
	chosen, err := arena.Take(4 * from.rows)
	if err != nil {
		return nil, err
	}
	defer arena.Hold()() // chosen stays where it is
	count, err := e.site.main.Filter(ctx, e.side(ctx, from), condition, parameters, chosen)
	if err != nil {
		return nil, err
	}
	rows, err := count.Wait(ctx)
	if err != nil {
		return nil, err
	}
	arena.Rewind(mark)
	if chosen, err = arena.Take(4 * rows); err != nil { // the same place, as much as it needs
		return nil, err
	}
	out := e.newSpace(rows)
	return out, out.pick(from, chosen, keep)
}
