package phj

import (
	"cmp"
	"slices"
)

// A packed payload is described in kernels/layout/join.h. Its match writes positions,
// and a kernel of its own gathers the payload once the result is dense.
const (
	laneBytes     = 64
	positionBytes = 4
)

// maxPacked is the most columns of a packed side. Its description ends with packedEnd
// empty ones.
const (
	maxPacked = 128
	packedEnd = 3
)

// positions says where the match writes the positions of a packed side's rows.
type positions uint8

const (
	positionsStay  positions = iota // in a result column of their width, which the gather overwrites row by row
	positionsMove                   // in other columns of the side; before the gather they move to where the partitions were
	positionsApart                  // in memory of their own, since the columns are too narrow
)

func positionsOf(widths []int) positions {
	total := 0
	for _, w := range widths {
		if w == positionBytes {
			return positionsStay
		}
		total += w
	}
	if total < positionBytes {
		return positionsApart
	}
	return positionsMove
}

// packedBytes returns the bytes of a packed row's lanes: what is left of 16 bytes is
// rounded up to 4, 8 or 16, so that the last lane often begins where a sector does.
func packedBytes(widths []int) int {
	bytes := 0
	for _, w := range widths {
		bytes += w
	}
	switch rest := bytes % 16; {
	case rest == 0:
		return bytes
	case rest <= 4:
		return bytes - rest + 4
	case rest <= 8:
		return bytes - rest + 8
	}
	return (bytes + 15) / 16 * 16
}

func packedShape(widths []int) shape {
	return shape{form: packed, words: packedBytes(widths) / 4, unit: 1}
}

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
