package bulk

import (
	"context"

	"gpujoin/joincore"
	"gpujoin/joincore/device"
	"gpujoin/joincore/exec"
)

// groups groups the rows of spaces as they come.
type groups struct {
	dev   *dev
	spec  *device.AggregateSpec
	where joincore.Expr
	inner device.Aggregation
}

func (d *dev) Aggregate(_ context.Context, spec *device.AggregateSpec, where joincore.Expr) (device.Groups, error) {
	inner, err := d.inner.Aggregate(spec)
	if err != nil {
		return nil, err
	}
	return &groups{dev: d, spec: spec, where: where, inner: inner}, nil
}

func (g *groups) Add(ctx context.Context, s device.Space) error {
	source := use(s)
	source.mustHold(joincore.Columns(g.where)...)
	source.mustHold(joincore.AggregateColumns(&joincore.Aggregate{Keys: g.spec.Keys, Functions: g.spec.Functions})...)
	for _, c := range g.spec.Carry {
		source.mustKeep(device.Keep{Inputs: []int{c.Input}})
	}
	inner, err := source.await(ctx)
	if err != nil {
		return err
	}
	var steps []exec.Step
	if g.where != nil {
		steps = append(steps, &exec.FilterStep{Context: ctx, Predicate: g.where, Parameters: g.spec.Parameters})
	}
	p := &exec.Pipeline{
		Device:  g.dev.inner,
		Stages:  []exec.Stage{{Source: exec.NewScan(g.dev.inner, inner), Steps: steps}},
		Consume: exec.Group(g.inner),
	}
	return p.Run(ctx)
}

func (g *groups) Space(ctx context.Context) (device.Space, error) {
	inner, err := g.inner.Space(ctx)
	if err != nil {
		return nil, err
	}
	s := newSpace(nil)
	s.inputs = []int{g.spec.ID}
	s.finish(inner, nil)
	return s, nil
}

func (g *groups) Report() joincore.AggregateStats { return g.inner.Report() }
func (g *groups) Release()                        { g.inner.Release() }
