package sidecar

import "gpujoin/joincore"

// What participants do with a batch may take much longer than the join: those
// who get no batch stand idle. So a batch for several of them has at most this
// share of a participant's part of the result, but never so few rows that
// handing it over costs more than reading it.
const (
	portionShare = 8
	leastPortion = 2048
)

// portion returns how many rows a result batch should have at most, of which
// full fit, when so many rows are expected and so many are out already. It
// grows with the result where the planner has expected less.
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
	if join, ok := j.plan.Root.(*joincore.Join); ok {
		return join.Rows
	}
	return 0
}
