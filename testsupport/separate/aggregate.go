package separate

import (
	"context"
	"sync/atomic"

	"gpujoin/joincore"
	"gpujoin/joincore/device"
)

// aggregation is a handle; it is dead after Release.
type aggregation struct {
	dev   *dev
	inner device.Aggregation
	dead  atomic.Bool
}

func (d *dev) Aggregate(spec *device.AggregateSpec) (device.Aggregation, error) {
	inner, err := d.inner.Aggregate(spec)
	return &aggregation{dev: d, inner: inner}, err
}

func (a *aggregation) alive() device.Aggregation {
	if a.dead.Load() {
		panic("aggregation used after its release")
	}
	return a.inner
}

func (a *aggregation) Space(ctx context.Context) (device.Space, error) {
	if last := a.dev.sofar(); last != nil {
		<-last
	}
	inner, err := a.alive().Space(ctx)
	return a.dev.there(inner, err)
}

func (a *aggregation) Report() joincore.AggregateStats { return a.alive().Report() }

func (a *aggregation) Release() {
	a.alive().Release()
	a.dead.Store(true)
}

func (s *stream) Group(ctx context.Context, r device.Rows, a device.Aggregation) error {
	in, to := live(r), a.(*aggregation).alive()
	s.do(func() error { return s.inner.Group(ctx, in.inner, to) })
	return nil
}
