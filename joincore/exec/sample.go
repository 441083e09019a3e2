package exec

import (
	"gpujoin/joincore"
	"gpujoin/joincore/device"
)

// How many rows of an input pass a filter decides which side of a join is built, and how. Rows
// that a backend feeds have passed their conditions already, but those of kept columns have
// not. A sample says more than the planner's estimate, which knows no correlations, and takes
// about as long as one chunk.

// A sample is so many pieces of so many rows, at the same distance from each other. Inputs that
// are not a few times as large are taken as if all rows passed.
const (
	samplePieces = 8
	sampleRows   = 1 << 10
)

// sample replaces the sizes of the plan's nodes by those that samples of its filters suggest.
func (e *chunked) sample() (err error) {
	var st device.ChunkStream
	defer func() {
		if st != nil {
			st.Close()
		}
	}()
	passing := func(f *joincore.Filter, scan *joincore.Scan) int64 {
		all := rowsOf(e.spaces[scan.Input])
		if all < 4*samplePieces*sampleRows || err != nil {
			return all
		}
		if st == nil {
			if st, err = e.dev.NewChunkStream(); err != nil {
				return all
			}
		}
		return e.passing(st, f, e.spaces[scan.Input], all)
	}
	e.sized = newSized(e.plan, planned, func(input int) int64 { return e.inputs[input].Rows() }, passing)
	return err
}

// passing estimates how many of all rows of a space pass a filter. If the filter fails for a
// row, which it may not do once others have left out this row, all are said to pass.
func (e *chunked) passing(st device.ChunkStream, f *joincore.Filter, s device.Space, all int64) int64 {
	filter := st.NewFilter(f.Predicate, e.plan.Parameters)
	seen, passed := int64(0), int64(0)
	segments, first, segment := s.Segments(), int64(0), 0 // of the rows before the segment
	for piece := range int64(samplePieces) {
		at := all * (2*piece + 1) / (2 * samplePieces)
		for at >= first+int64(segments[segment].Rows) {
			first += int64(segments[segment].Rows)
			segment++
		}
		n := min(segments[segment].Rows-int(at-first), sampleRows, e.dev.ChunkRows())
		_, count, err := filter.Apply(st.Scan(s, segment, int(at-first), n))
		if err != nil {
			return all
		}
		m, err := count.Wait(e.ctx)
		if err != nil {
			return all
		}
		seen, passed = seen+int64(n), passed+m
	}
	return all * max(passed, 1) / seen
}
