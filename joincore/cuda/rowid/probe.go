//go:build cuda

package rowid

import (
	"context"

	"gpujoin/joincore/cuda/driver"
	"gpujoin/joincore/device"
)

// Probe joins the rows of a space and passes the result to emit in parts. A
// part is valid until emit returns. emit may use the queue, and its arena as a
// stack. If emit fails, Probe ends and returns its error.
func (j *Join) Probe(ctx context.Context, probe Side, emit func(Pairs) error) error {
	if err := probe.check(); err != nil {
		return err
	}
	q := j.q
	mark := q.arena.Mark()
	defer q.arena.Rewind(mark)
	j.report.ProbeRows += probe.Rows
	flags := flagsOf(&j.spec.Match)
	out := j.counting(emit)
	var marks driver.Ptr
	if flags&markProbe != 0 {
		var err error
		if marks, err = q.newMarks(probe.Rows); err != nil {
			return err
		}
	}
	if flags != 0 && probe.Rows > 0 && j.keys.rows > 0 {
		inner := q.arena.Mark()
		if err := j.match(ctx, probe, flags, marks, out); err != nil {
			return err
		}
		q.arena.Rewind(inner)
	}
	rest := func(found bool) error {
		return j.marked(ctx, marks, probe.Rows, found, func(rows int64, at driver.Ptr) error { return out(Pairs{Rows: rows, Probe: at}) })
	}
	switch j.spec.Emit {
	case device.Outer, device.Anti:
		return rest(false)
	case device.Semi:
		return rest(true)
	}
	return nil
}

// Leftover emits the build rows that have found a partner in any Probe, or those that
// have not. The join must have been prepared with Mark.
func (j *Join) Leftover(ctx context.Context, found bool, emit func(Pairs) error) error {
	mark := j.q.arena.Mark()
	defer j.q.arena.Rewind(mark)
	out := j.counting(emit)
	return j.marked(ctx, j.marks, j.build.Rows, found, func(rows int64, at driver.Ptr) error { return out(Pairs{Rows: rows, Build: at}) })
}

// counting adds the emitted rows to the report.
func (j *Join) counting(emit func(Pairs) error) func(Pairs) error {
	return func(p Pairs) error {
		j.report.ResultRows += p.Rows
		return emit(p)
	}
}

// newMarks takes one cleared bit per row.
func (q *Queue) newMarks(rows int64) (driver.Ptr, error) {
	bytes := (rows + 31) / 32 * 4
	at, err := q.arena.Take(bytes)
	if err != nil {
		return 0, err
	}
	return at, q.stream.Memset(at, 0, bytes)
}

// marked emits the numbers of the rows whose mark equals want, in order.
func (j *Join) marked(ctx context.Context, marks driver.Ptr, rows int64, want bool, emit func(rows int64, at driver.Ptr) error) error {
	q := j.q
	mark := q.arena.Mark()
	defer q.arena.Rewind(mark)
	window := min(regionRows(j.spec.Region, q.arena.Free()), rows)
	out, err := q.arena.Take(4 * window)
	if err != nil {
		return err
	}
	total, err := q.arena.Take(8)
	if err != nil {
		return err
	}
	inner := q.arena.Mark()
	for first := int64(0); first < rows; first += window {
		since := q.cost
		n := min(window, rows-first)
		if err := q.selectRows("gj_select_marked", n, out, total, uint64(marks), uint64(first), wordOf(want)); err != nil {
			return err
		}
		counted, err := q.read(ctx, total, 1)
		if err != nil {
			return err
		}
		found := int64(counted[0])
		q.arena.Rewind(inner)
		q.cost.Bytes += n/8 + 4*found
		j.account(since)
		if found == 0 {
			continue
		}
		if err := emit(found, out); err != nil {
			return err
		}
	}
	return nil
}

func wordOf(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}
