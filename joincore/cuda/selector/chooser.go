package selector

import (
	"gpujoin/joincore"
	"gpujoin/joincore/costmodel"
	"gpujoin/joincore/cuda/columnar/npj"
	"gpujoin/joincore/cuda/columnar/phj"
)

// chooser decides for one join.
type chooser struct {
	rates *costmodel.DeviceRates
	join  costmodel.Resident // before a sample
	// plain says that nothing of a side's payload is in the result, so that no
	// sample is taken: there is nothing to be materialised.
	plain bool
	other costmodel.Method // than a partitioned join, once that was chosen
}

func partitioned(m costmodel.Method) bool {
	return m.Algorithm == joincore.PHJOM || m.Algorithm == joincore.PHJUM
}

// fewMatches is a match ratio at which partitioning is at its best.
const fewMatches = 1. / 16

// sampled says whether the executor of partitioned joins takes a sample.
func (c *chooser) sampled() bool { return !c.plain && c.join.Rows[1] >= phj.SampleFrom }

// few is the join as a sample may show it.
func (c *chooser) few() costmodel.Resident {
	j := c.join
	j.MatchRatio = fewMatches
	return j
}

// looks says whether the range of the build keys is looked for before anything
// is chosen: it may decide.
func (c *chooser) looks() bool {
	return c.rates.RangeDecides(c.join) || c.sampled() && c.rates.RangeDecides(c.few())
}

// learn notes the range: keys are dense where an array has room for it, unless
// it is shorter than the build side, so that keys repeat.
func (c *chooser) learn(keys npj.Range) {
	rows := c.join.Rows[0]
	if bytes := keys.ArrayBytes(rows); bytes >= rows*npj.WordBytes {
		c.join.Array = costmodel.Array{Bytes: bytes, Near: float64(keys.Near) / float64(rows)}
	}
}

// first returns what is chosen without a sample, and whether the join begins as
// a partitioned one: as it was chosen, or because a sample may say so.
func (c *chooser) first() (m costmodel.Method, partition bool) {
	m = c.rates.Pick(c.join)
	if partitioned(m) {
		return m, true
	}
	if c.sampled() && partitioned(c.rates.Pick(c.few())) {
		return m, true
	}
	c.other = m
	return m, false
}

// elsewhere decides again with what a sample has told.
func (c *chooser) elsewhere(told costmodel.Resident) bool {
	told.SortPasses, told.TableBytes, told.Array = c.join.SortPasses, c.join.TableBytes, c.join.Array
	m := c.rates.Pick(told)
	if partitioned(m) {
		return false
	}
	c.other = m
	return true
}

// materialise is how a join that is not sampled brings payload to the result;
// "" of others.
func (c *chooser) materialise(m costmodel.Method) string {
	switch {
	case c.plain || c.sampled():
		return ""
	case m.Algorithm == joincore.PHJUM:
		return "um"
	}
	return "om"
}
