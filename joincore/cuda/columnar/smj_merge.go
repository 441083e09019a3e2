//go:build cuda

package columnar

import "gpujoin/joincore/cuda/driver"

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
