package control

import (
	"fmt"
	"maps"
	"math"
	"slices"
)

// EncodeContents lists contents with the bytes that they take on devices. version is not 0.
// Contents of a column that was captured at once follow each other, so that the steps from one
// to the next, and with them most of the message, take a byte each. No content is 0, so no step is.
func EncodeContents(version uint64, bytes map[uint64]int64) *Contents {
	out := &Contents{Version: version}

	last := uint64(0)
	for _, content := range slices.Sorted(maps.Keys(bytes)) {
		out.Steps = append(out.Steps, content-last)
		out.Bytes = append(out.Bytes, uint64(bytes[content]))
		last = content
	}
	return out
}

// Decode returns what EncodeContents was given. ErrMalformed: nobody has encoded that.
func (c *Contents) Decode() (map[uint64]int64, error) {
	if len(c.GetSteps()) != len(c.GetBytes()) || c.GetVersion() == 0 {
		return nil, fmt.Errorf("%w: %d contents with the bytes of %d, version %d", ErrMalformed, len(c.GetSteps()), len(c.GetBytes()), c.GetVersion())
	}
	out := make(map[uint64]int64, len(c.Steps))
	last := uint64(0)
	for i, step := range c.Steps {
		if step == 0 || last+step < last || c.Bytes[i] > math.MaxInt64 {
			return nil, fmt.Errorf("%w: %d bytes of the content %d behind %d", ErrMalformed, c.Bytes[i], step, last)
		}
		last += step
		out[last] = int64(c.Bytes[i])
	}
	return out, nil
}
