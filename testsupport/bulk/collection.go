package bulk

import (
	"context"

	"gpujoin/joincore/device"
)

// collection stores row ids in the order of arrival.
type collection struct {
	dev    *dev
	keep   device.Keep
	tuples device.Tuples // nil: handed over, or released
}

func (d *dev) Collect(_ context.Context, keep device.Keep) (device.Collection, error) {
	t, err := d.inner.NewTuples(inputsOf(keep), nil)
	if err != nil {
		return nil, err
	}
	return &collection{dev: d, keep: keep, tuples: t}, nil
}

func (c *collection) Append(ctx context.Context, s device.Space) error {
	source := use(s)
	source.mustKeep(c.keep)
	inner, err := source.await(ctx)
	if err != nil {
		return err
	}
	return c.dev.append(ctx, inner, c.tuples)
}

func (c *collection) Space(context.Context) (device.Space, error) {
	s := newSpace(nil, c.keep)
	s.finish(c.tuples, nil)
	c.tuples = nil
	return s, nil
}

func (c *collection) Release() {
	if c.tuples != nil {
		c.tuples.Release()
		c.tuples = nil
	}
}
