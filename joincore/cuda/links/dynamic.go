//go:build cuda

package links

import (
	"context"
	"errors"
	"fmt"

	"gpujoin/joincore/cuda/driver"
)

// dynamic page-locks one piece while the previous one is copied, and unlocks it
// afterwards. It first tries one piece, to detect a refusal.
func (b *bench) dynamic(n int64) (*trip, error) {
	near := b.near[:n]
	first, err := b.device.Register(near[:min(n, b.piece)])
	if err != nil {
		return nil, err
	}
	if err := first.Close(); err != nil {
		return nil, err
	}
	note := fmt.Sprintf("pieces of %s", sizeText(min(n, b.piece)))
	return &trip{near: near, far: b.far, close: closeNothing, note: note, move: func(ctx context.Context, d Direction) (err error) {
		var before *driver.Registration
		defer func() {
			// A piece stays locked until no copy engine can still use it.
			err = errors.Join(err, b.letGo(context.WithoutCancel(ctx), before))
		}()
		for k, part := range partsOf(near, b.piece) {
			r, err := b.device.Register(part)
			if err != nil {
				return err
			}
			before, err = r, b.letGo(ctx, before)
			if err != nil {
				return err
			}
			if err := b.copy(d, b.far+driver.Ptr(int64(k)*b.piece), part); err != nil {
				return err
			}
		}
		return nil
	}}, nil
}

// letGo waits for all copies so far and unlocks a piece.
func (b *bench) letGo(ctx context.Context, r *driver.Registration) error {
	if r == nil {
		return nil
	}
	return errors.Join(b.finish(ctx), r.Close())
}
