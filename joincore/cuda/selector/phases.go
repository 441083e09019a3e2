package selector

import (
	"strings"

	"gpujoin/joincore/costmodel"
)

// PhaseChoose is what a sample and the range of the build keys take, and the
// waits for them.
const PhaseChoose = "choose"

// PhaseOf returns the model's name of the phase that an algorithm reports: the
// model knows a side's passes as one phase, and counts what is short with what
// it goes along with.
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
