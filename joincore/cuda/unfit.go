package cuda

import (
	"errors"

	"gpujoin/joincore"
	"gpujoin/joincore/device"
)

// unfitForMaterialised returns the reason why a join cannot take both sides at once, ""
// if it can: it must be an inner join on keys that are one number of at most 8
// bytes, or several of them. If the provider chooses the algorithm, the probe
// side must be an input, because each part of a result would transform the build
// side once more.
func unfitForMaterialised(spec *device.JoinSpec) string {
	switch {
	case spec.Emit != device.Pairs || spec.Mark || spec.Leftover:
		return "it is not an inner join"
	case spec.Residual != nil:
		return "it has a condition besides its keys"
	case len(spec.Build.Parts) == 0:
		return "it has no keys"
	case !spec.Build.Exact:
		return "its keys have more than 8 bytes, or variable length"
	case spec.Algorithm == 0 && !spec.ProbeInput:
		return "its probe side is a result"
	}
	return ""
}

// whyNotMaterialised returns the reason why a join that suits was not executed on whole
// sides, given the error.
func whyNotMaterialised(err error) string {
	if errors.Is(err, joincore.ErrBudget) {
		return "the device has too little memory for whole sides"
	}
	return "the algorithm does not take these columns"
}
