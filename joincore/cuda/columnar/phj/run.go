//go:build cuda

package phj

import (
	"context"
	"errors"
	"runtime"
	"unsafe"

	"gpujoin/joincore"
	"gpujoin/joincore/cuda/columnar"
	"gpujoin/joincore/cuda/driver"
)

// run is one join on its way.
type run struct {
	state   *state
	scratch *scratch
	stream  *driver.Stream
	arena   *driver.Arena
	join    *columnar.Join
	options Options
	report  columnar.Report

	sides    [2]*columnar.Side
	widths   [2][]int // of the payload that the result has; none for row numbers
	keyWords int
	bits     int
	modes    [2]mode
	shapes   [2]shape
	kernels  joinKernels
	bypass   *bypass       // hot keys go round the partitions; nil: none do
	bloom    bool          // the probe side is what a Bloom filter leaves of it, or will be
	whole    columnar.Side // the probe side as it was given

	d       joinDescriptor
	fields  []field
	tables  tables
	output  output
	phases  []string // name of each mark but the first
	err     error    // of the first operation that could not be queued
	counted uint64   // the sides whose keys are counted
	sampled summary
	cold    int64 // probe rows that were not bypassed
}

// run queues the join, waits for it and returns its result.
func (r *run) run(ctx context.Context) (*columnar.Output, error) {
	r.sides = [2]*columnar.Side{&r.join.Build, &r.join.Probe}
	r.keyWords = r.join.Build.Key.Bytes / 4
	if !r.join.RowIDs {
		for i, s := range r.sides {
			for _, c := range s.Payload {
				r.widths[i] = append(r.widths[i], c.Bytes)
			}
		}
	}
	r.modes = r.options.modes()
	r.whole = r.join.Probe
	r.bloom = r.options.Bloom == bloomOn && r.reducible()
	if err := r.plan(); err != nil {
		return nil, err
	}
	if err := r.takeTables(); err != nil {
		return nil, err
	}
	r.mark("")
	if r.sampling() {
		if err := r.sample(ctx); err != nil {
			return nil, err
		}
	}
	if r.bloom {
		if err := r.reduce(ctx); err != nil {
			return nil, err
		}
	}
	if err := r.partitionBoth(ctx); err != nil {
		return nil, err
	}
	r.matchAndClose()
	rows, err := r.finish(ctx)
	if err == nil && rows > r.output.rows {
		rows, err = r.again(ctx, rows)
	}
	if err != nil {
		return nil, err
	}
	r.report.Algorithm = r.name()
	r.report.PeakBytes = r.join.Build.Bytes() + r.whole.Bytes() + r.tables.peak
	return r.output.result(rows), r.times()
}

// partitionBoth moves both sides into their partitions, hot keys round them
// where that was decided and there is memory for it.
func (r *run) partitionBoth(ctx context.Context) error {
	if r.bypass == nil {
		return r.partition()
	}
	err := r.partitionCold(ctx)
	if errors.Is(err, joincore.ErrBudget) {
		return r.withoutBypass(r.join.OutputRows)
	}
	return err
}

// withoutBypass begins a join with a bypass anew without one, and with the whole
// probe side, with room for so many rows of the result.
func (r *run) withoutBypass(rows int64) error {
	r.bypass, r.bloom, r.modes = nil, false, [2]mode{carry, carry}
	r.join.Probe, r.counted = r.whole, 0
	if err := r.plan(); err != nil {
		return err
	}
	r.arena.Rewind(r.tables.bottom)
	r.options.Materialise, r.join.OutputRows = "om", rows
	if err := r.takeTables(); err != nil {
		return err
	}
	return r.partition()
}

// again matches once more, into room for the rows that the first time has
// counted: the partitions still lie there. A join with a bypass has nothing to
// begin from, since its result began before they were made.
func (r *run) again(ctx context.Context, rows int64) (int64, error) {
	if r.bypass != nil {
		if err := r.withoutBypass(rows); err != nil {
			return 0, err
		}
	} else {
		if err := r.takeOutput(rows); err != nil {
			return 0, err
		}
		r.copyIn()
		r.do(func() error { return r.stream.Memset(driver.Ptr(r.d.Counters), 0, 8*counters) })
	}
	r.matchAndClose()
	return r.finish(ctx)
}

// do queues one operation, where all before it could be queued.
func (r *run) do(f func() error) {
	if r.err == nil {
		r.err = f()
	}
}

// launch queues a kernel; each begins with the descriptor.
func (r *run) launch(k *driver.Kernel, grid int, args ...uint64) {
	r.report.Launches++
	r.do(func() error { return k.Launch(r.stream, grid, append([]uint64{uint64(r.tables.join)}, args...)...) })
}

// mark ends a phase; the first mark begins the join, readBack ends it.
func (r *run) mark(name string) {
	if name != "" {
		if !r.join.Phases && name != readBack {
			return
		}
		r.phases = append(r.phases, name)
	}
	e := r.scratch.marks[min(len(r.phases), maxMarks-1)]
	r.do(func() error { return r.stream.Record(e) })
}

const readBack = "read back"

// copyIn brings the descriptor and the fields to the device. The device does
// not read the host's copy of an earlier one any more.
func (r *run) copyIn() {
	host := r.scratch.host.Bytes()
	*(*joinDescriptor)(unsafe.Pointer(&host[hostJoin])) = r.d
	for i := range r.fields {
		*(*field)(unsafe.Pointer(&host[hostFields+i*fieldBytes])) = r.fields[i]
	}
	r.do(func() error {
		return r.stream.CopyIn(r.tables.join, host[hostJoin:hostFields+len(r.fields)*fieldBytes])
	})
}

// finish waits for the join and returns its rows, also those that did not fit.
func (r *run) finish(ctx context.Context) (int64, error) {
	host := r.scratch.host.Bytes()[hostCounters : hostCounters+8*counters]
	r.do(func() error { return r.stream.CopyOut(host, driver.Ptr(r.d.Counters)) })
	r.mark(readBack)
	if err := r.sync(ctx); err != nil {
		return 0, err
	}
	return int64(r.scratch.host.Words()[hostCounters/8+counterOutputRows]), nil
}

// await waits for a point that the stream reaches soon, without leaving the
// processor: a sleep would take longer than what is waited for.
func (r *run) await(ctx context.Context, e *driver.Event) error {
	if r.err != nil {
		return r.err
	}
	r.report.Syncs++
	for {
		if done, err := e.Done(); done || err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		runtime.Gosched()
	}
}

func (r *run) sync(ctx context.Context) error {
	if r.err != nil {
		return r.err
	}
	r.report.Syncs++
	return r.stream.Sync(ctx)
}

// times fills the report's times from the marks.
func (r *run) times() (err error) {
	marks := r.scratch.marks
	last := min(len(r.phases), maxMarks-1)
	if r.report.MS, err = marks[last].Since(marks[0]); err != nil {
		return err
	}
	traffic := r.traffic()
	for _, bytes := range traffic {
		r.report.Bytes += bytes
	}
	for i, name := range r.phases[:last] {
		if !r.join.Phases {
			break
		}
		ms, err := marks[i+1].Since(marks[i])
		if err != nil {
			return err
		}
		r.report.Phases = append(r.report.Phases, columnar.Phase{Name: name, MS: ms, Bytes: traffic[name]})
	}
	return nil
}
