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

// sortTogether queues the sort of the keys with all columns that move with them.
func (r *smjRun) sortTogether() {
	var columns [2][]sortedColumn
	for i, in := range r.Sides {
		columns[i] = []sortedColumn{r.keyOf(i)}
		r.sources[i].Gather = !r.Join.RowIDs && r.volume.numbered(r.strategy, i)
		if r.Join.RowIDs || r.sources[i].Gather {
			columns[i] = append(columns[i], sortedColumn{bytes: 4})
			continue
		}
		for _, c := range in.Payload {
			columns[i] = append(columns[i], sortedColumn{uint64(c.Addr), c.Bytes})
		}
	}
	sorted, behind, bytes := r.sortColumns(columns)
	r.Phase(PhaseSort, 2*int64(r.sort.Passes)*bytes)
	r.bottom = behind
	for i := range r.Sides {
		source := &r.sources[i]
		source.Key = sorted[i][0]
		if r.Join.RowIDs || source.Gather {
			source.IDs = sorted[i][1]
		} else {
			source.Payload = sorted[i][1:]
		}
	}
}

// mergeTogether queues the merge, with space for the given rows, and the gathers.
func (r *smjRun) mergeTogether(rows int64) *ResultMemory {
	r.Rewind(r.bottom)
	counter := r.takeCounters()
	out := r.TakeOutput(rows, counter, r.sources, r.inPlace(rows))
	r.mergeSides(out, [2]uint64{r.sources[0].Key, r.sources[1].Key})
	r.GatherPayload(out)
	return out
}

// takeCounters takes the merge's counters and returns the address of the row count.
func (r *smjRun) takeCounters() uint64 {
	zero := r.Take(3 * 8)
	r.Set(zero, 0, 3*8)
	r.merge.Deferred, r.merge.Slice = zero, zero+8
	return zero + 16
}

// mergeSides queues the merge of sorted keys.
func (r *smjRun) mergeSides(out *ResultMemory, keys [2]uint64) {
	split, merge, runs := r.mergeKernel("gj_merge_split_k%d"), r.mergeKernel("gj_merge_k%d"), r.mergeKernel("gj_merge_runs_k%d")
	n := mergeTiles(r.Sides[0].Rows+r.Sides[1].Rows, merge.Rows)
	r.merge.Key, r.merge.Result = keys, out.Match
	r.merge.Tiles = uint64(n)
	r.merge.Splits = r.Take(4 * (n + 1))
	r.merge.Runs = r.Take(equalRunBytes * (r.Sides[0].Rows/maxEqualRun + n))
	at := Put(r.Job, &r.merge)
	r.Launch(split, int(n)/max(split.Threads, 1)+1, at)
	r.Launch(merge, r.Grid(merge, n), at)
	r.Launch(runs, runs.Blocks*r.SMs, at)
	r.Phase(PhaseMerge, r.volume.sorted(r.strategy, 0)+r.volume.sorted(r.strategy, 1)+out.Bytes())
}

func (r *smjRun) mergeKernel(name string) *driver.Kernel { return r.Kernel(name, r.keyWords()) }

// oneByOne queues the whole join with one payload column at a time, with space for the
// given result rows (GFTR's column-at-a-time mode). Only the keys are sorted and
// merged, and the result has the partners' positions among the sorted rows. Then each
// column is sorted with the key, gathered by position, and freed. In addition to
// inputs and result the join holds at most the keys and one column of one side, twice.
func (r *smjRun) oneByOne(rows int64) *ResultMemory {
	r.Rewind(r.bottom)
	counter := r.takeCounters()
	for i, in := range r.Sides {
		r.sources[i].Gather = len(in.Payload) > 0
	}
	out := r.TakeOutput(rows, counter, r.sources, r.inPlace(rows))
	above := r.Mark()

	sorted, behind, moves := r.sortColumns([2][]sortedColumn{{r.keyOf(0)}, {r.keyOf(1)}})
	r.Phase(PhaseSort, 2*int64(r.sort.Passes)*moves)
	r.Rewind(behind)
	out.KeyFrom(sorted[1][0])
	r.mergeSides(out, [2]uint64{sorted[0][0], sorted[1][0]})

	bytes := int64(0)
	for i, of := range out.Of {
		r.Rewind(above)
		in := r.Sides[of.Side].Payload[of.Column]
		var columns [2][]sortedColumn
		columns[of.Side] = []sortedColumn{r.keyOf(of.Side), {uint64(in.Addr), in.Bytes}}
		sorted, _, moves := r.sortColumns(columns)
		r.GatherColumn(out, i, sorted[of.Side][1])
		bytes += 2*int64(r.sort.Passes)*moves + rows*int64(4+2*in.Bytes)
	}
	if len(out.Of) > 0 {
		r.Phase(PhaseColumns, bytes)
	}
	return out
}

// sortedColumn is a column that a sort moves; `from` 0 stands for row numbers.
type sortedColumn struct {
	from  uint64
	bytes int
}

// keyOf returns the key column, the first in each sort of a side.
func (r *smjRun) keyOf(side int) sortedColumn {
	k := r.Sides[side].Key
	return sortedColumn{uint64(k.Addr), k.Bytes}
}

// sortColumns queues the sort of columns, the keys first; it skips a side without
// columns. The first sort also counts the digits. It returns the addresses of the
// sorted columns, the mark from which memory is free after the sort, and the bytes
// moved.
func (r *smjRun) sortColumns(columns [2][]sortedColumn) (sorted [2][]uint64, behind driver.Mark, bytes int64) {
	d := r.sort
	widest, rows := 4, int64(0)
	for i, list := range columns {
		s := &d.Side[i]
		if len(list) > 0 {
			s.Rows = uint64(r.Sides[i].Rows)
			rows += r.Sides[i].Rows
		}
		for _, c := range list {
			s.Column[s.Columns] = sortColumn{At: [maxSortPasses + 1]uint64{c.from}, Bytes: uint64(c.bytes)}
			s.Columns++
			widest = max(widest, c.bytes)
			bytes += int64(s.Rows) * int64(c.bytes)
		}
	}
	pass := r.passKernel(rows, widest)
	n := mergeTiles(int64(d.Side[0].Rows), pass.Rows) + mergeTiles(int64(d.Side[1].Rows), pass.Rows)

	// The passes' alternating buffers. The last pass's comes first, so that the
	// rest can be released.
	passes := int(d.Passes)
	for odd := range min(2, passes) {
		for i := range d.Side {
			s := &d.Side[i]
			for c := range s.Columns {
				at := r.Take(int64(s.Rows * s.Column[c].Bytes))
				for p := passes - odd; p > 0; p -= 2 {
					s.Column[c].At[p] = at
				}
				if odd == 0 {
					sorted[i] = append(sorted[i], at)
				}
			}
		}
		if odd == 0 {
			behind = r.Mark()
		}
	}
	d.Status = r.Take(n * sortFan * 8)
	r.Set(d.Status, 0, n*sortFan*8)
	r.Set(d.Tickets, 0, maxSortPasses*4)
	at := Put(r.Job, &d)
	r.countDigits(at, rows)
	for p := range d.Passes {
		r.Launch(pass, r.Grid(pass, n), at, p)
	}
	return sorted, behind, bytes
}

// countDigits queues the histograms of both sides' keys, once per join.
func (r *smjRun) countDigits(sort uint64, rows int64) {
	if r.counted {
		return
	}
	r.counted = true
	count := r.Kernel("gj_sort_count_k%d", r.keyWords())
	// Each side gets at least one block.
	r.Launch(count, int(max(2, min(int64(count.Blocks*r.SMs), rows/countRows))), sort)
	r.Phase(PhaseHistogram, rows*int64(r.volume.keyBytes))
}

// countRows is the minimum number of rows per block of the histogram kernel.
const countRows = 8192

// passKernel returns the kernel for a pass over the given rows and the widest
// value's bytes.
func (r *smjRun) passKernel(rows int64, widest int) *driver.Kernel {
	wide := 4
	if widest > 4 || r.volume.keyBytes > 4 {
		wide = 8
	}
	many := r.Kernel("gj_sort_pass_k%d_%d_many", r.keyWords(), wide)
	if rows < int64(2*r.SMs*many.Rows) {
		return r.Kernel("gj_sort_pass_k%d_%d_few", r.keyWords(), wide)
	}
	return many
}

func (r *smjRun) keyWords() int { return r.volume.keyBytes / 4 }

func mergeTiles(rows int64, of int) int64 { return (rows + int64(of) - 1) / int64(max(of, 1)) }
