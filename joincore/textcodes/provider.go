package textcodes

import (
	"context"
	"errors"
	"time"

	"gpujoin/joincore"
	"gpujoin/joincore/device"
	"gpujoin/joincore/exec"
)

// Provider executes plans on another provider, after cores have replaced the texts that it
// does not read.
type Provider struct{ device.Provider }

// New returns a provider that executes plans on p.
func New(p device.Provider) *Provider { return &Provider{p} }

// Check implements device.Checker.
func (p *Provider) Check(plan *joincore.Plan) error {
	return Check(func(plan *joincore.Plan) error { return device.Check(p.Provider, plan) })(plan)
}

// Check returns a function that accepts a plan if check does, or if it accepts the plan
// without the texts that cores replace.
func Check(check func(*joincore.Plan) error) func(*joincore.Plan) error {
	return func(plan *joincore.Plan) error {
		err := check(plan)
		if !errors.Is(err, joincore.ErrUnsupported) {
			return err
		}
		r, rewriteErr := rewrite(plan)
		if rewriteErr != nil {
			return rewriteErr
		}
		return check(r.plan)
	}
}

// phase is what the report of a join calls the work of the cores.
const phase = "encode texts"

// Execute implements exec.Executor.
func (p *Provider) Execute(ctx context.Context, plan *joincore.Plan, inputs []*joincore.Relation, mem joincore.Memory,
	sink joincore.Sink, opt exec.Options, stats *joincore.Stats) error {
	if device.Check(p.Provider, plan) == nil {
		return exec.Run(ctx, p.Provider, plan, inputs, mem, sink, opt, stats)
	}
	start := time.Now()
	r, err := rewrite(plan)
	if err != nil {
		return err
	}
	taken := joincore.NewAccount("texts", mem)
	defer taken.Close()
	if inputs, err = extend(ctx, r, plan, inputs, taken, opt.Device.Turn()); err != nil {
		return err
	}
	took := time.Since(start)
	err = exec.Run(ctx, p.Provider, r.plan, inputs, mem, sink, opt, stats)
	took += r.forgetLookUps(stats)
	stats.JoinTime += took
	if len(stats.Joins) > 0 {
		stats.Joins[0].AddPhase(joincore.Phase{Name: phase, Actual: took})
		stats.Joins[0].Time += took
	} else if len(stats.Aggregates) > 0 {
		stats.Aggregates[0].Time += took
	}
	return err
}

// forgetLookUps takes joins with vocabularies out of a report, and returns their time.
func (r *rewriting) forgetLookUps(stats *joincore.Stats) (took time.Duration) {
	joins := joincore.Joins(r.plan.Root)
	if len(stats.Joins) != len(joins) { // the execution has failed before
		return 0
	}
	var kept []joincore.JoinStats
	for i, j := range joins {
		if r.lookUps[j] {
			took += stats.Joins[i].Time
		} else {
			kept = append(kept, stats.Joins[i])
		}
	}
	stats.Joins = kept
	return took
}
