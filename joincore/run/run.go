// Package run executes plans: it decides which side of each join is built, and
// what is kept between joins. On a Chunked device chains of joins become
// pipelines, with row numbers only between them; on a Bulk device every step
// takes and returns whole spaces. Payload is gathered last, straight into the
// sink's batches.
package run

import (
	"context"
	"fmt"
	"time"

	"gpujoin/joincore"
	"gpujoin/joincore/algo"
	"gpujoin/joincore/costmodel"
	"gpujoin/joincore/device"
)

// Options steer an execution. The zero value leaves every choice to choose.
type Options struct {
	Rates *costmodel.Rates // of this machine; nil: defaults
	// Decide replaces choices, for tests and benchmarks. Join counts in
	// post-order.
	Decide func(join int, d costmodel.Decision) costmodel.Decision
	Device device.Options
}

// Run executes plan over inputs and hands the result to sink. Column-sized
// memory comes from mem and is all freed when Run returns, which it does when
// ctx is done, too. Errors: ErrBudget, ErrRowTooWide, ErrUnsupported,
// ErrInvalid, those of ctx and of sink.
func Run(ctx context.Context, p device.Provider, plan *joincore.Plan, inputs []*joincore.Relation,
	mem joincore.Memory, sink joincore.Sink, opt Options, stats *joincore.Stats) (err error) {
	defer device.Recover(&err)
	if err := validate(plan, inputs); err != nil {
		return err
	}
	start := time.Now()
	counted := &meter{mem: mem}
	dev, err := p.Open(counted, opt.Device)
	if err != nil {
		return err
	}
	defer dev.Close()
	e := newExecution(ctx, plan, inputs, opt)
	var x executor
	var turns device.Turns
	switch d := dev.(type) {
	case device.Bulk:
		x = newBulk(e, d)
	case device.Chunked:
		x = newChunked(e, d)
		turns = opt.Device.Turn()
	default:
		return fmt.Errorf("a device of type %T: %w", dev, joincore.ErrUnsupported)
	}
	out := e.output(sink)
	out.Turns = turns
	defer func() {
		if stats == nil {
			return
		}
		stats.Provider = p.Name()
		stats.RowsOut, stats.BytesOut = out.Rows.Load(), out.Bytes.Load()
		stats.JoinTime = time.Since(start) - out.Waits.Each(dev.Streams())
		stats.Peak = counted.peak.Load()
		stats.Joins = x.joinStats()
		if n := len(stats.Joins); n > 0 {
			root, gather := &stats.Joins[n-1], x.gather()
			root.AddPhase(gather)
			root.Time += gather.Actual
		}
	}()
	if err := e.importInputs(dev); err != nil {
		return err
	}
	return x.run(out)
}

// executor runs a plan in one of the two ways that a device can work.
type executor interface {
	run(out *algo.Output) error
	joinStats() []joincore.JoinStats // in post-order
	// gather is the last phase of the topmost join: its result has been
	// gathered into batches of the sink, as nothing was before.
	gather() joincore.Phase
}

var errPlan = fmt.Errorf("plan: %w", joincore.ErrInvalid)
