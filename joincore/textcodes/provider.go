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
func (p *Provider) Check(plan *joincore.Checked) error { return Check(p.check)(plan) }

func (p *Provider) check(plan *joincore.Checked) error { return device.Check(p.Provider, plan) }

// Check returns a function that accepts a plan if check does, or if it accepts the plan
// without the texts that cores replace.
func Check(check func(*joincore.Checked) error) func(*joincore.Checked) error {
	return func(plan *joincore.Checked) error {
		_, err := adapted(check, plan)
		return err
	}
}

// adapted returns the plan without the texts that cores replace, if check does not accept it
// as it is; else nil.
func adapted(check func(*joincore.Checked) error, plan *joincore.Checked) (*rewriting, error) {
	err := check(plan)
	if !errors.Is(err, joincore.ErrUnsupported) {
		return nil, err
	}
	r, err := rewrite(plan)
	if err != nil {
		return nil, err
	}
	return r, check(r.plan)
}

// phase is what the report of a join calls the work of the cores.
const phase = "encode texts"

// Execute implements exec.Executor.
func (p *Provider) Execute(ctx context.Context, plan *joincore.Checked, inputs []*joincore.Relation, mem joincore.Memory,
	sink joincore.Sink, opt exec.Options, stats *joincore.Stats) error {
	start := time.Now()
	r, err := adapted(p.check, plan)
	if err != nil {
		return err
	}
	if r == nil {
		return exec.Run(ctx, p.Provider, plan, inputs, mem, sink, opt, stats)
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
