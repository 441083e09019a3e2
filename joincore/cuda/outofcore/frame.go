package outofcore

import "math"

// frame is the range of 2^32 numbers in which the values of an 8-byte column lie, if it has
// one: partitioned windows then store 4-byte differences from its base, which halves what
// crosses the link. The first window chooses it, with its own values in the middle; a later
// window whose values lie elsewhere is stored as it is.
type frame struct {
	base  uint64
	state frameState
}

type frameState uint8

const (
	unknown frameState = iota
	narrow             // windows within the range of the base are stored in 4 bytes
	wide               // no window is
)

// widestFrame is the largest difference between two values of the first window: others may
// spread further.
const widestFrame = 1 << 28

// holds chooses the frame if there is none yet, and reports whether a window's values, all from
// least to greatest, lie in it.
func (f *frame) holds(least, greatest int64) bool {
	if least > greatest {
		return false
	}
	spread := uint64(greatest) - uint64(least)
	if f.state == unknown {
		f.state = wide
		if spread <= widestFrame {
			f.state, f.base = narrow, uint64(least)-(math.MaxUint32-spread)/2
		}
	}
	// Modulo 2^64, so that a frame may extend beyond the least and the greatest number.
	return f.state == narrow && spread <= math.MaxUint32 && uint64(least)-f.base <= math.MaxUint32-spread
}
