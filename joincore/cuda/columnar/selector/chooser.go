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

// Describe completes the description of a join with what the algorithms support.
// outputRows is the expected size of the result; free is the device memory, in bytes,
// that the join may use in addition to its inputs, 0: any.
func Describe(j costmodel.Resident, outputRows, free int64) costmodel.Resident {
	j.Shape = phj.Shape(j, outputRows)
	if max(len(j.Payload[0]), len(j.Payload[1])) > columnar.MaxPayload {
		return j
	}
	width := func(i int) int64 { return int64(j.KeyBytes + columnar.Total(j.Payload[i])) }
	const number = 4
	build, probe := j.Rows[0], j.Rows[1]
	out := outputRows * (width(0) + width(1) - int64(j.KeyBytes) + number)
	fits := func(need int64) bool { return free == 0 || need <= free }
	if need := columnar.TableBytes(build) + build*number + out; fits(need) {
		j.TableBytes = columnar.TableBytes(build)
	}
	sorted := build*width(0) + probe*width(1)
	if fits(sorted + max(sorted, out)) {
		j.SortPasses = columnar.SortPasses(build)
	}
	return j
}

// PhaseChoose is the phase of sampling and of determining the range of the build keys,
// with the waits for them.
const PhaseChoose = "choose"

// PhaseOf returns the model's name for a phase that an algorithm reports: the model has
// one phase for all of a side's passes, and adds short phases to their neighbours.
func PhaseOf(reported string) string {
	switch reported {
	case columnar.PhaseSummary, columnar.PhaseRange:
		return PhaseChoose
	case columnar.PhaseReduction:
		return costmodel.PhaseFilter
	case columnar.PhaseOffsets:
		return costmodel.PhaseHistogram
	case columnar.PhaseFirstPass[0], columnar.PhaseSecondPass[0]:
		return costmodel.PhaseBuildSide
	case columnar.PhaseFirstPass[1], columnar.PhaseSecondPass[1]:
		return costmodel.PhaseProbeSide
	case columnar.PhaseClose, columnar.PhaseReadBack:
		return costmodel.PhaseMatch
	}
	return reported
}
