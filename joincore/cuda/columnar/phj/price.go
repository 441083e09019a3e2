package phj

import "gpujoin/joincore/costmodel"

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
			a, okA := uniform(v.widths[0])
			b, okB := uniform(v.widths[1])
			m.Bypass = okA && okB && b == s[1] && bypassExists(a, b) && left.bypassPeak(s, hot)+extra <= v.bound()
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
