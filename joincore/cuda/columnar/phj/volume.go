package phj

import (
	"gpujoin/joincore/costmodel"
	"gpujoin/joincore/cuda/columnar"
)

// volume has the parameters of a join's memory use.
type volume struct {
	keyBytes   int
	rows       [2]int64
	widths     [2][]int
	outputRows int64
}

// bytes returns the bytes of the inputs and of the result.
func (v volume) bytes() (in, out int64) {
	width := [2]int64{int64(v.keyBytes), int64(v.keyBytes)}
	for i, w := range v.widths {
		for _, b := range w {
			width[i] += int64(b)
		}
		in += v.rows[i] * width[i]
	}
	return in, v.outputRows * (width[0] + width[1] - int64(v.keyBytes))
}

// bound is the most device memory in bytes that a join may use; inputs are included.
func (v volume) bound() int64 {
	in, out := v.bytes()
	return columnar.Bound(in, v.rows[0]+v.rows[1], out)
}

// peak models the peak memory for payloads of the given shapes. The first passes of both
// sides use the same memory, one after the other, and then the result, except for what is
// gathered from there.
func (v volume) peak(s [2]shape, modes [2]mode) int64 {
	in, out := v.bytes()
	var first, final, placed, moved int64
	for i, rows := range v.rows {
		words := int64(v.keyBytes/4 + s[i].words)
		switch modes[i] {
		case carry, rowID:
			first = max(first, rows*4*words)
		case place:
			placed += rows * 4 * words
			words = int64(v.keyBytes/4 + 1)
		case pack: // the keys' lane of the first pass is not needed after the second
			placed += rows * 4 * int64(s[i].words)
			first = max(first, rows*int64(v.keyBytes))
			words = int64(v.keyBytes/4 + 1)
			switch positionsOf(v.widths[i]) {
			case positionsMove:
				moved += v.outputRows * positionBytes
			case positionsApart:
				out += v.outputRows * positionBytes
			}
		}
		final += rows * 4 * words
	}
	return in + final + placed + max(first, out) + max(0, moved-final)
}

// bypassPeak models the peak memory if the fraction `hot` of the probe rows takes the
// bypass: the result exists from the beginning, and the probe side's buffers replace
// the build side's first one.
func (v volume) bypassPeak(s [2]shape, hot float64) int64 {
	in, out := v.bytes()
	of := func(i int) int64 { return v.rows[i] * int64(v.keyBytes+4*s[i].words) }
	cold := int64(float64(of(1)) * (1 - hot))
	return in + out + of(0) + max(of(0), 2*cold)
}

// keptRows is the capacity, in probe rows, of a side reduced by a filter if the
// fraction `match` has a match: the rows that the filter passes plus the sampling
// error.
func (v volume) keptRows(match float64) int64 {
	share := match + (1-match)*costmodel.FilterLeaves(v.rows[0])
	return min(v.rows[1], int64(float64(v.rows[1])*(share*9/8+1./64))+1024)
}

// reduced returns the join of the reduced probe side, and the bytes that it uses in
// addition: the original probe side. Filters are freed before buffers are taken, and
// smaller than those.
func (v volume) reduced(rows int64) (left volume, extra int64) {
	left = v
	left.rows[1] = rows
	all, _ := v.bytes()
	build, _ := volume{v.keyBytes, [2]int64{v.rows[0], 0}, v.widths, 0}.bytes()
	return left, all - build
}
