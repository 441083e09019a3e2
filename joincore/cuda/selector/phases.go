package selector

import (
	"strings"

	"gpujoin/joincore/costmodel"
)

// PhaseChoose is the phase of sampling and of determining the range of the build keys,
// with the waits for them.
const PhaseChoose = "choose"

// PhaseOf returns the model's name for a phase that an algorithm reports: the model has
// one phase for all of a side's passes, and adds short phases to their neighbours.
func PhaseOf(reported string) string {
	switch reported {
	case "summary", "range":
		return PhaseChoose
	case "reduction":
		return costmodel.PhaseFilter
	case "offsets":
		return costmodel.PhaseHistogram
	case "close", "read back":
		return costmodel.PhaseMatch
	}
	if pass, side, ok := strings.Cut(reported, " pass, "); ok && pass != "" {
		return "partition " + side + " side"
	}
	return reported
}
