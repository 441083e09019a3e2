//go:build cuda

package auto

import (
	"gpujoin/joincore"
	"gpujoin/joincore/choose"
	"gpujoin/joincore/cuda/phj"
	"gpujoin/joincore/cuda/resident"
)

// chooser decides for one join.
type chooser struct {
	rates *choose.DeviceRates
	join  choose.Resident // before the sample
	other choose.Method   // than a partitioned join, once that was chosen
}

func partitioned(m choose.Method) bool {
	return m.Algorithm == joincore.PHJOM || m.Algorithm == joincore.PHJUM
}

// fewMatches is a match ratio at which partitioning is at its best.
const fewMatches = 1. / 16

// certain says that a sample would not change whether the join is partitioned.
func (c *chooser) certain(m choose.Method) bool {
	j := c.join
	j.MatchRatio = fewMatches
	nothing := len(j.Payload[0])+len(j.Payload[1]) == 0 // is materialised
	return nothing || j.Rows[1] < phj.SampleFrom || partitioned(m) == partitioned(c.rates.Pick(j))
}

// elsewhere decides again with what a sample has told.
func (c *chooser) elsewhere(sampled choose.Resident) bool {
	sampled.SortPasses, sampled.TableBytes = c.join.SortPasses, c.join.TableBytes
	m := c.rates.Pick(sampled)
	if partitioned(m) {
		return false
	}
	c.other = m
	return true
}

// unsampled is how a join that is too small for a sample is materialised; "" of
// others.
func (c *chooser) unsampled(j *resident.Join, m choose.Method) string {
	switch {
	case j.Probe.Rows >= phj.SampleFrom || j.RowIDs:
		return ""
	case m.Algorithm == joincore.PHJUM:
		return "um"
	}
	return "om"
}
