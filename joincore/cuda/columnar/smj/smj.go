//go:build cuda

package smj

import (
	"context"

	"gpujoin/joincore/cuda/columnar"
	"gpujoin/joincore/cuda/columnar/launch"
	"gpujoin/joincore/cuda/driver"
)

// OM sorts payload with the key: all columns at once, or one at a time if the join
// would otherwise exceed its bound (columnar.Bound) or the free memory.
func OM(ctx context.Context, d *driver.Context, s *driver.Stream, a *driver.Arena, j *columnar.Join) (*columnar.Output, *columnar.Report, error) {
	return start(ctx, d, s, a, j, "smj-om", func(r *run) {
		if r.exceeds(sortAll) && !r.Join.RowIDs {
			r.strategy = columnAtATime
		}
	})
}

// Columns is OM with one column at a time, however much memory is free.
func Columns(ctx context.Context, d *driver.Context, s *driver.Stream, a *driver.Arena, j *columnar.Join) (*columnar.Output, *columnar.Report, error) {
	return start(ctx, d, s, a, j, "smj-om", func(r *run) {
		if !r.Join.RowIDs {
			r.strategy = columnAtATime
		}
	})
}

// UM sorts row ids with the key and gathers payload by them.
func UM(ctx context.Context, d *driver.Context, s *driver.Stream, a *driver.Arena, j *columnar.Join) (*columnar.Output, *columnar.Report, error) {
	return start(ctx, d, s, a, j, "smj-um", func(r *run) {
		if !r.Join.RowIDs {
			r.strategy = sortRowIDs
		}
	})
}

// start runs a join by the strategy that choose sets.
func start(ctx context.Context, d *driver.Context, s *driver.Stream, a *driver.Arena, j *columnar.Join, algorithm string, choose func(*run)) (*columnar.Output, *columnar.Report, error) {
	if err := launch.CheckPayload(algorithm, j); err != nil {
		return nil, nil, err
	}
	return launch.Run(ctx, d, s, a, j, algorithm, func(ctx context.Context, b *launch.Job) (*columnar.Output, error) {
		r := newRun(b)
		choose(r)
		return r.run(ctx)
	})
}

// run is one running join.
type run struct {
	*launch.Job
	strategy strategy
	volume   volume

	sort    sortDescriptor // common to all sorts of the join
	merge   mergeDescriptor
	bottom  driver.Mark // behind what the whole join needs
	counted bool        // the histogram stands
	sources [2]launch.Source
}

func newRun(b *launch.Job) *run {
	r := &run{Job: b}
	n := sortBits(r.Sides[0].Rows)
	shift, mask := digits(n)
	r.sort.Passes = uint64(len(shift))
	copy(r.sort.Shift[:], shift)
	copy(r.sort.Mask[:], mask)
	r.merge.Bits = uint64(n)
	r.volume = volume{keyBytes: r.Join.Build.Key.Bytes, rowBytes: r.Join.RowBytes(), passes: len(shift)}
	for i, in := range r.Sides {
		r.merge.Rows[i], r.volume.rows[i] = uint64(in.Rows), in.Rows
		r.volume.widths[i] = launch.Widths(in.Payload)
		if r.Join.RowIDs {
			r.volume.widths[i] = []int{4}
		}
	}
	return r
}

func (r *run) run(ctx context.Context) (*columnar.Output, error) {
	histogram, tickets := 2*int64(r.sort.Passes)*fan*4, int64(maxPasses)*4
	r.sort.Histogram = r.Take(histogram + tickets)
	r.sort.Tickets = r.sort.Histogram + uint64(histogram)
	r.Set(r.sort.Histogram, 0, histogram)
	r.bottom = r.Mark()

	join := r.oneByOne
	if r.strategy != columnAtATime {
		r.sortTogether()
		join = r.mergeTogether
	}
	if r.strategy == columnAtATime {
		r.Report.Algorithm = "smj-om/columns"
	}
	out := join(r.Join.OutputRows)
	rows, err := r.Rows(ctx, r.merge.Result.Rows)
	if err == nil && rows > int64(r.merge.Result.Capacity) {
		// The result was larger than expected: merges again, with space for the
		// counted rows.
		out = join(rows)
		rows, err = r.Rows(ctx, r.merge.Result.Rows)
	}
	if err != nil {
		return nil, err
	}
	return out.Result(rows), nil
}

// exceeds reports whether a strategy exceeds the join's memory and
// column-at-a-time needs less.
func (r *run) exceeds(w strategy) bool {
	peak := r.peak(w, r.Join.OutputRows, true)
	return peak > r.Room(r.Join.OutputRows) && r.peak(columnAtATime, r.Join.OutputRows, true) < peak
}

// inPlace reports whether a result of the given rows must hold row numbers in
// its columns.
func (r *run) inPlace(rows int64) bool { return r.peak(r.strategy, rows, false) > r.Room(rows) }

func (r *run) peak(w strategy, rows int64, inPlace bool) int64 {
	v := r.volume
	v.outputRows = rows
	pass := r.passKernel(min(v.rows[0], v.rows[1]), 8)
	return v.peak(w, inPlace, fan*8/float64(max(pass.Rows, 1)))
}
