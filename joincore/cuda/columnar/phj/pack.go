package phj

import (
	"cmp"
	"slices"

	"gpujoin/joincore/cuda/columnar"
)

// A packed payload is described in kernels/layout/join.h. Its match writes positions,
// and a kernel of its own gathers the payload once the result is dense.
//
// Fields that are carried are in the same order, and the same kernel is their first pass.
const (
	stripeBytes   = 64
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
	switch {
	case slices.Contains(widths, positionBytes):
		return positionsStay
	case columnar.Total(widths) < positionBytes:
		return positionsApart
	}
	return positionsMove
}

// packedBytes returns the bytes of a packed row's stripes: what is left of 16 bytes is
// rounded up to 4, 8 or 16, so that the last stripe often begins where a sector does.
func packedBytes(widths []int) int {
	bytes := columnar.Total(widths)
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

// placedValue is where a column's values are in a row.
type placedValue struct {
	column int // of the payload
	at     int // bytes of the row's payload before the value
}

// placeValues places columns in a row, the widest first, so that no value crosses a
// multiple of its width.
func placeValues(widths []int) []placedValue {
	values := make([]placedValue, len(widths))
	for c := range values {
		values[c].column = c
	}
	slices.SortStableFunc(values, func(a, b placedValue) int { return cmp.Compare(widths[b.column], widths[a.column]) })
	at := 0
	for i := range values {
		values[i].at = at
		at += widths[values[i].column]
	}
	return values
}

// placeFields places columns in a row of fields of the given words. A row buffer and the
// match divide a row into a head, the words that do not make up four, and groups of four
// words. The widest values fill the groups, the others the head.
func placeFields(words int, widths []int) []placedValue {
	values := placeValues(widths)
	head := 4 * (words % 4)
	tail := 4*words - head
	for i := range values {
		v := &values[i]
		switch {
		case v.at < tail:
			v.at += head
		case head == 12: // of three words, a value of 8 bytes takes the last two, which the key before them aligns
			v.at = (v.at - tail + 4) % head
		default:
			v.at -= tail
		}
	}
	slices.SortFunc(values, func(a, b placedValue) int { return cmp.Compare(a.at, b.at) })
	return values
}

// placeCarried places columns in a row of a shape with fields. All words of one with a byte
// beside the hash, which is the last value, are one group.
func placeCarried(s shape, widths []int) []placedValue {
	if s.form == beside {
		return placeValues(widths)
	}
	return placeFields(s.words, widths)
}

// packedValue is where a value lies in the stripes that a first pass writes.
type packedValue struct {
	column     int // of the payload; keyColumn: the key
	stripe     int // bytes of a row in the stripes before the value's own
	offset     int // in its stripe
	stripeSize int // bytes of its stripe
}

const keyColumn = -1

// packValues places packed columns in stripes, so that no value crosses two.
func packValues(widths []int) []packedValue {
	values, bytes := make([]packedValue, len(widths)), packedBytes(widths)
	for i, v := range placeValues(widths) {
		stripe := v.at / stripeBytes * stripeBytes
		values[i] = packedValue{v.column, stripe, v.at - stripe, min(stripeBytes, bytes-stripe)}
	}
	return values
}

// carryValues places carried fields of a row of keyWords and s.words in the stripes of a row
// buffer: Lanes in kernels/layout/row.cuh. The key is among them if its stripe also has
// payload.
func carryValues(keyWords int, s shape, widths []int) (values []packedValue) {
	row := keyWords + s.words
	sizes := []int{4 * (row % 2), 8 * (row % 4 / 2)}
	for range row / 4 {
		sizes = append(sizes, 16)
	}
	// in returns a stripe and an offset for a byte of the row.
	in := func(column, at int) packedValue {
		stripe := 0
		for _, size := range sizes {
			if at < stripe+size {
				return packedValue{column, stripe, at - stripe, size}
			}
			stripe += size
		}
		panic("phj: a value behind the end of its row")
	}
	if key := in(keyColumn, 0); key.stripeSize > 4*keyWords {
		values = append(values, key)
	}
	for _, v := range placeFields(s.words, widths) {
		values = append(values, in(v.column, 4*keyWords+v.at))
	}
	return values
}
