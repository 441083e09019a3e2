package exec

import (
	"slices"

	"gpujoin/joincore"
	"gpujoin/joincore/device"
)

// moved selects what is partitioned of a side. With OM it is the needed columns
// of fixed width if the side is a base relation, and row ids for the rest.
func (e *chunked) moved(s *side, space device.Space, j *join) Side {
	out := Side{Space: space, Key: s.key}
	base := slices.Index(e.spaces, space)
	out.Carry, out.RowIDs = device.Carried(s.needed.of(s.inputs), func(c joincore.ColumnRef) bool {
		return j.decision.Algorithm.OM() && base == c.Input && movable(e.columnOf(c))
	})
	return out
}

// movable counts the columns of a side that OM would move with the key.
func (e *chunked) movable(s *side) int {
	n := 0
	if !hasJoin(s.node) {
		for _, c := range s.needed.of(s.inputs) {
			if movable(e.columnOf(c)) {
				n++
			}
		}
	}
	return n
}

func movable(c joincore.Column) bool {
	return c.Kind == joincore.Fixed && c.Width <= carryWidth
}
