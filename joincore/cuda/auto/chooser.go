package auto

import (
	"gpujoin/joincore"
	"gpujoin/joincore/choose"
	"gpujoin/joincore/cuda/phj"
)

// chooser decides for one join.
type chooser struct {
	rates *choose.DeviceRates
	join  choose.Resident // before a sample
	// plain says that nothing of a side's payload is in the result, so that no
	// sample is taken: there is nothing to be materialised.
	plain bool
	other choose.Method // than a partitioned join, once that was chosen
}

func partitioned(m choose.Method) bool {
	return m.Algorithm == joincore.PHJOM || m.Algorithm == joincore.PHJUM
}

// fewMatches is a match ratio at which partitioning is at its best.
const fewMatches = 1. / 16

// sampled says whether the executor of partitioned joins takes a sample.
func (c *chooser) sampled() bool { return !c.plain && c.join.Rows[1] >= phj.SampleFrom }

// first returns what is chosen without a sample, and whether the join begins as
// a partitioned one: as it was chosen, or because a sample may say so.
func (c *chooser) first() (m choose.Method, partition bool) {
	m = c.rates.Pick(c.join)
	if partitioned(m) {
		return m, true
	}
	few := c.join
	few.MatchRatio = fewMatches
	if c.sampled() && partitioned(c.rates.Pick(few)) {
		return m, true
	}
	c.other = m
	return m, false
}

// elsewhere decides again with what a sample has told.
func (c *chooser) elsewhere(told choose.Resident) bool {
	told.SortPasses, told.TableBytes = c.join.SortPasses, c.join.TableBytes
	m := c.rates.Pick(told)
	if partitioned(m) {
		return false
	}
	c.other = m
	return true
}

// materialise is how a join that is not sampled brings payload to the result;
// "" of others.
func (c *chooser) materialise(m choose.Method) string {
	switch {
	case c.plain || c.sampled():
		return ""
	case m.Algorithm == joincore.PHJUM:
		return "um"
	}
	return "om"
}
