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

// leastWindow is the least rows of a window that is one of several: enough to fill the
// device, few enough that the first ones are read early.
const leastWindow = 1 << 24

// windowTarget returns how many rows of a probe side of the given rows, of which width bytes
// cross the link, are uploaded and joined at a time. Tables of the build side's partitions
// are made anew for each window, so windows must not be much smaller than the build
// side:
//
//   - a quarter of its rows is always enough;
//   - a quarter of the probe side is, too, as long as a window takes longer to cross the link
//     than to make these tables. One of several devices has a small probe side, and the last
//     window should be a small part of it, because its join is hidden by no upload.
func windowTarget(rows, build, width int64) int64 {
	return max(leastWindow, min(build/4, max(rows/4, tableBytes*build/max(width, 1))))
}

// tableBytes is somewhat more than the bytes that cross the link while tables of one build
// row are made: 0.6 on an H100, whose windows take as long again to be joined.
const tableBytes = 2
