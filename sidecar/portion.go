package sidecar

import "gpujoin/joincore"

// The nodes above the join may take much longer than the join itself, and a
// participant without a batch is idle. With several participants a batch
// therefore has at most 1/portionShare of a participant's part of the result. It
// has at least leastPortion rows, so that handing it over costs less than
// reading it.
const (
	portionShare = 8
	leastPortion = 2048
)

// portion returns the maximum number of rows of a result batch into which full
// rows fit. expected is the planner's estimate of the result, out the number of
// rows produced so far. If out exceeds the estimate, portions grow with it.
func portion(full int, participants uint32, expected float64, out int64) int {
	if participants <= 1 {
		return full
	}
	rows := max(expected, float64(out)) / float64(portionShare*participants)
	if rows >= float64(full) {
		return full
	}
	return min(full, max(int(rows), leastPortion))
}

// expectedRows returns the planner's estimate of the result.
func (j *job) expectedRows() float64 {
	switch n := j.plan.Root.(type) {
	case *joincore.Join:
		return n.Rows
	case *joincore.Aggregate:
		return n.Rows
	}
	return 0
}
