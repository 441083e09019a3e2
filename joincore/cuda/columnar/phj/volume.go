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
	row := int64(v.keyBytes) // of the result
	for i, w := range v.widths {
		payload := int64(columnar.Total(w))
		in += v.rows[i] * (int64(v.keyBytes) + payload)
		row += payload
	}
	return in, v.outputRows * row
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
		case pack: // the keys' stripe of the first pass is not needed after the second
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

// SampleFrom is the number of probe rows from which a sample, about 0.1 ms, pays.
const SampleFrom = 1 << 26

// Shape returns how the kernels execute a wanted materialisation, for the model that
// chooses one: modes that have no kernels, or need more memory than the join may use,
// are replaced.
func Shape(j costmodel.Resident, outputRows int64) func(costmodel.Materialisation) (costmodel.Materialisation, [2]costmodel.Carried) {
	v := volume{j.KeyBytes, j.Rows, j.Payload, outputRows}
	return func(m costmodel.Materialisation) (costmodel.Materialisation, [2]costmodel.Carried) {
		s, modes := v.fit([2]mode{modeOf[m.Build], modeOf[m.Probe]})
		if onePass(v, s) && (modes[0] == place || modes[1] == place) {
			s, modes = v.fit(carriedIn(modes)) // as plan does
		}
		left, extra, hot := v, int64(0), j.Hot
		if m.Bloom {
			if left, extra = v.reduced(v.keptRows(j.MatchRatio)); left.peak(s, modes)+extra > v.bound() {
				m.Bloom, left, extra = false, v, 0
			} else {
				hot = min(1, hot*float64(v.rows[1])/float64(max(left.rows[1], 1)))
			}
		}
		if m.Bypass {
			_, ok := bypassed(v.widths, s[1])
			m.Bypass = ok && left.bypassPeak(s, hot)+extra <= v.bound()
		}
		one := onePass(v, s)
		m.Build, m.Probe = transformOf[modes[0]], transformOf[modes[1]]
		var c [2]costmodel.Carried
		for i := range s {
			c[i].Words, c[i].OnePass = s[i].words, one
			c[i].Copied = modes[i] == pack && positionsOf(v.widths[i]) == positionsMove
			if s[i].form == fields {
				c[i].Fields = fieldParts(v.widths[i])
				c[i].AsPacked = packedFirst(j.KeyBytes/4, s[i])
			}
		}
		return m, c
	}
}

var (
	modeOf      = [...]mode{costmodel.Carry: carry, costmodel.Place: place, costmodel.Pack: pack, costmodel.Fetch: rowID}
	transformOf = [...]costmodel.Transform{carry: costmodel.Carry, place: costmodel.Place, pack: costmodel.Pack, rowID: costmodel.Fetch}
)

// onePass reports whether one pass suffices for sides of the given shapes. It uses the
// kernels' tuning for compute capability 9.0; a join asks its kernels. The difference
// matters to the model only for small joins.
func onePass(v volume, s [2]shape) bool {
	chunk := 4608
	for _, side := range s {
		if v.keyBytes/4+side.words > 3 {
			chunk = 2304
		}
	}
	return partitionBits(v.rows[0], chunk) <= 8
}
