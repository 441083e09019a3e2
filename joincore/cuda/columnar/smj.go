//go:build cuda

package columnar

import (
	"context"

	"gpujoin/joincore/cuda/driver"
)

// SMJOM sorts payload with the key: all columns at once, or one at a time if the join
// would otherwise exceed its bound (columnar.Bound) or the free memory.
func SMJOM(ctx context.Context, d *driver.Context, s *driver.Stream, a *driver.Arena, j *Join) (*Output, *Report, error) {
	return startSMJ(ctx, d, s, a, j, "smj-om", func(r *smjRun) {
		if r.exceeds(sortAll) && !r.Join.RowIDs {
			r.strategy = columnAtATime
		}
	})
}

// SMJUM sorts row ids with the key and gathers payload by them.
func SMJUM(ctx context.Context, d *driver.Context, s *driver.Stream, a *driver.Arena, j *Join) (*Output, *Report, error) {
	return startSMJ(ctx, d, s, a, j, "smj-um", func(r *smjRun) {
		if !r.Join.RowIDs {
			r.strategy = sortRowIDs
		}
	})
}

// startSMJ runs a join by the strategy that choose sets.
func startSMJ(ctx context.Context, d *driver.Context, s *driver.Stream, a *driver.Arena, j *Join, algorithm string, choose func(*smjRun)) (*Output, *Report, error) {
	if err := CheckPayload(algorithm, j); err != nil {
		return nil, nil, err
	}
	return Run(ctx, d, s, a, j, algorithm, func(ctx context.Context, b *Job) (*Output, error) {
		r := newSMJRun(b)
		choose(r)
		return r.run(ctx)
	})
}

// smjRun is one running join.
type smjRun struct {
	*Job
	strategy smjStrategy
	volume   smjVolume

	sort    sortDescriptor // common to all sorts of the join
	merge   mergeDescriptor
	bottom  driver.Mark // behind what the whole join needs
	counted bool        // the histogram stands
	sources [2]Source
}

func newSMJRun(b *Job) *smjRun {
	r := &smjRun{Job: b}
	n := sortBits(r.Sides[0].Rows)
	shift, mask := sortDigits(n)
	r.sort.Passes = uint64(len(shift))
	copy(r.sort.Shift[:], shift)
	copy(r.sort.Mask[:], mask)
	r.merge.Bits = uint64(n)
	r.volume = smjVolume{keyBytes: r.Join.Build.Key.Bytes, rowBytes: r.Join.RowBytes(), passes: len(shift)}
	for i, in := range r.Sides {
		r.merge.Rows[i], r.volume.rows[i] = uint64(in.Rows), in.Rows
		r.volume.widths[i] = Widths(in.Payload)
		if r.Join.RowIDs {
			r.volume.widths[i] = []int{4}
		}
	}
	return r
}

func (r *smjRun) run(ctx context.Context) (*Output, error) {
	histogram, tickets := 2*int64(r.sort.Passes)*sortFan*4, int64(maxSortPasses)*4
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
func (r *smjRun) exceeds(w smjStrategy) bool {
	peak := r.peak(w, r.Join.OutputRows, true)
	return peak > r.Room(r.Join.OutputRows) && r.peak(columnAtATime, r.Join.OutputRows, true) < peak
}

// inPlace reports whether a result of the given rows must hold row numbers in
// its columns.
func (r *smjRun) inPlace(rows int64) bool { return r.peak(r.strategy, rows, false) > r.Room(rows) }

func (r *smjRun) peak(w smjStrategy, rows int64, inPlace bool) int64 {
	v := r.volume
	v.outputRows = rows
	pass := r.passKernel(min(v.rows[0], v.rows[1]), 8)
	return v.peak(w, inPlace, sortFan*8/float64(max(pass.Rows, 1)))
}
