package selector

import (
	"gpujoin/joincore/costmodel"
	"gpujoin/joincore/cuda/columnar"
)

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
