package phj

import (
	"cmp"
	"slices"
)

// A packed payload is described in kernels/layout/join.h.
const laneBytes = 16

// maxPacked is the most columns of a packed side; each takes two fields of the
// descriptor.
const maxPacked = 128

// packedBytes returns the bytes of a packed row's lanes.
func packedBytes(widths []int) int {
	bytes := 0
	for _, w := range widths {
		bytes += w
	}
	switch rest := bytes % laneBytes; {
	case rest == 0:
		return bytes
	case rest <= 4:
		return bytes - rest + 4
	case rest <= 8:
		return bytes - rest + 8
	}
	return (bytes + laneBytes - 1) / laneBytes * laneBytes
}

func packedShape(widths []int) shape {
	return shape{form: packed, words: packedBytes(widths) / 4, unit: 1}
}

// lanesOf returns the number of lanes of a packed row.
func lanesOf(s shape) int { return (4*s.words + laneBytes - 1) / laneBytes }

// packedValue is where a column's values lie in a packed row.
type packedValue struct {
	column   int // of the payload
	lane     int // bytes of the lanes before the value's own
	offset   int // in its lane
	laneSize int // bytes of its lane
}

// packValues places columns in lanes, the widest first, so that no value crosses two.
func packValues(widths []int) []packedValue {
	values := make([]packedValue, len(widths))
	for c := range values {
		values[c].column = c
	}
	slices.SortStableFunc(values, func(a, b packedValue) int { return cmp.Compare(widths[b.column], widths[a.column]) })
	bytes, at := packedBytes(widths), 0
	for i := range values {
		v := &values[i]
		v.lane, v.offset = at/laneBytes*laneBytes, at%laneBytes
		v.laneSize = min(laneBytes, bytes-v.lane)
		at += widths[v.column]
	}
	return values
}
