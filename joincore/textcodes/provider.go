// Package textcodes executes plans that read texts on devices whose expressions read integers
// only. Cores replace texts with integers before the device sees them: a condition that
// reads texts becomes a truth value of 1 byte for each row of its input, and a text that is
// compared with others becomes a code of 4 bytes. Only these cross the link.
//
// # Plans
//
// An expression can be replaced if all columns that it reads belong to one base input: it
// is computed for all rows of that input. Rows that an outer join adds have NULL in all
// columns of the input, added ones too; if the expression is not NULL there, its value is a
// constant of the plan. Expressions that can fail are not replaced, because they would be
// computed for rows for which SQL does not compute them. What cannot be replaced stays, and
// the device refuses the plan.
//
// # Codes
//
// Group keys, distinct values, the least and the greatest text, texts of several inputs
// that are compared, and texts of groups by which they are joined have codes. Texts that
// meet are of one vocabulary: equal texts have equal codes, and where their order counts,
// codes have it. A constant of a vocabulary is a parameter of the plan. Another condition
// over a text of groups becomes the list of the codes for which it is true.
//
// Codes are not decoded. The value of a group key is carried, in the words of
// joincore.Aggregate: it is that of any of the group's rows. A key that is no column is
// added to its input as another column, of texts, which stays on the host. Other texts of
// groups are looked up: their vocabulary is a further input of the plan, to which the
// groups are joined by the code.
//
// A Memo keeps codes and truth values of columns that have contents (joincore.Vector) from one
// plan to the next.
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
type Provider struct {
	device.Provider
	memo *Memo
}

// New returns a provider that executes plans on p.
func New(p device.Provider) *Provider { return &Provider{Provider: p} }

// With has the provider keep codes in a memo, of which it may be one of several users.
func (p *Provider) With(memo *Memo) *Provider {
	p.memo = memo
	return p
}

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
	memo := p.memo.use(r, inputs, plan.Parameters)
	extended, err := extend(ctx, r, plan, inputs, taken, opt.Device.Turn(), memo)
	if errors.Is(err, joincore.ErrBudget) && memo != nil {
		memo.end(true) // the memo's memory may be what is missing
		memo = nil
		extended, err = extend(ctx, r, plan, inputs, taken, opt.Device.Turn(), nil)
	}
	defer func() { memo.end(false) }()
	if err != nil {
		return err
	}
	inputs = extended
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
