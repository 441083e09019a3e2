package selector

import (
	"gpujoin/joincore"
	"gpujoin/joincore/costmodel"
	"gpujoin/joincore/cuda/columnar"
	"gpujoin/joincore/cuda/columnar/phj"
)

// chooser chooses the algorithm of one join.
type chooser struct {
	rates *costmodel.DeviceRates
	join  costmodel.Resident // as described before a sample
	// plain says that the result has no payload of a side, so that there is nothing to
	// materialise and no sample is taken.
	plain bool
	other costmodel.Method // the chosen method if it is not a partitioned join
}

func partitioned(m costmodel.Method) bool {
	return m.Algorithm == joincore.PHJOM || m.Algorithm == joincore.PHJUM
}

// fewMatches is a match ratio at which partitioned joins are at their best.
const fewMatches = 1. / 16

// sampled reports whether a partitioned join takes a sample.
func (c *chooser) sampled() bool { return !c.plain && c.join.Rows[1] >= phj.SampleFrom }

// few returns the join as described by a sample that shows few matches.
func (c *chooser) few() costmodel.Resident {
	j := c.join
	j.MatchRatio = fewMatches
	return j
}

// looks reports whether the range of the build keys may change the choice and must be
// determined first.
func (c *chooser) looks() bool {
	return c.rates.RangeDecides(c.join) || c.sampled() && c.rates.RangeDecides(c.few())
}

// learn records the range. Keys count as dense if an array has space for the range,
// unless the range is shorter than the build side, so that keys repeat.
func (c *chooser) learn(keys columnar.KeyRange) {
	rows := c.join.Rows[0]
	if bytes := keys.ArrayBytes(rows); bytes >= rows*columnar.ArrayWordBytes {
		c.join.Array = costmodel.Array{Bytes: bytes, Near: float64(keys.Near) / float64(rows)}
	}
}

// first returns the choice without a sample, and whether the join starts as a
// partitioned one: because that was chosen, or because a sample may lead to it.
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

// elsewhere reports whether another algorithm is better by what the sample says.
func (c *chooser) elsewhere(told costmodel.Resident) bool {
	told.SortPasses, told.TableBytes, told.Array = c.join.SortPasses, c.join.TableBytes, c.join.Array
	m := c.rates.Pick(told)
	if partitioned(m) {
		return false
	}
	c.other = m
	return true
}

// materialise returns the materialisation of a partitioned join that is not sampled, ""
// for others.
func (c *chooser) materialise(m costmodel.Method) string {
	switch {
	case c.plain || c.sampled():
		return ""
	case m.Algorithm == joincore.PHJUM:
		return "um"
	}
	return "om"
}
