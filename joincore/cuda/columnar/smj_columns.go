//go:build cuda

package columnar

import ()

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
