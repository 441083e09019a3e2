package selector

import (
	"math/bits"
	"strconv"
	"strings"
	"testing"

	"gpujoin/joincore/costmodel"
)

func widthsOf(n, width int) (w []int) {
	for range n {
		w = append(w, width)
	}
	return w
}

// caseOf returns a case of bench-gpu as a sample describes it, with the fractions of
// hot rows that samples of its Zipf distributions have.
func caseOf(t *testing.T, name string) costmodel.Resident {
	const r, s = 1 << 27, 1 << 28
	j := func(key, columns, width int, build, probe int64) costmodel.Resident {
		return costmodel.Resident{KeyBytes: key, Rows: [2]int64{build, probe}, Payload: [2][]int{widthsOf(columns, width), widthsOf(columns, width)}, MatchRatio: 1}
	}
	out := j(4, 2, 4, r, s)
	switch name {
	case "4B-1+1":
		out = j(4, 1, 4, r, s)
	case "4B-2+2":
	case "4B-4+4":
		out = j(4, 4, 4, r, s)
	case "4B/8B-2+2":
		out = j(4, 2, 8, r, s)
	case "8B-2+2":
		out = j(8, 2, 8, r, s)
	case "match-1/4":
		out.MatchRatio = 1. / 4
	case "match-1/16":
		out.MatchRatio = 1. / 16
	case "zipf-1.0":
		out = j(4, 2, 4, r, r)
		out.Hot = 0.27
	case "zipf-1.5":
		out = j(4, 2, 4, r, r)
		out.Hot = 0.9
	case "2^23x2^24":
		out = j(4, 2, 4, 1<<23, 1<<24)
	case "2^20x2^21":
		out = j(4, 2, 4, 1<<20, 1<<21)
	case "m:n-8x8":
		out = j(4, 2, 4, 1<<24, 1<<24)
		out.ResultRows = 1 << 27
	case "mixed":
		out = costmodel.Resident{KeyBytes: 4, Rows: [2]int64{1 << 25, 1 << 26}, Payload: [2][]int{{1, 8, 2}, {16, 4, 1}}, MatchRatio: 1}
	case "star-1/16":
		out = j(4, 2, 4, 1<<24, s)
		out.MatchRatio = 1. / 16
	case "star-1/4":
		out = j(4, 2, 4, 1<<24, s)
		out.MatchRatio = 1. / 4
	case "dense-2+2":
		out.Array.Bytes = 4 * r
	case "dense-2^20":
		out = j(4, 2, 4, 1<<20, s)
		out.Array.Bytes = 4 << 20
	default:
		n, err := strconv.Atoi(strings.TrimPrefix(name, "step-"))
		if err != nil {
			t.Fatalf("no case %s", name)
		}
		out = costmodel.Resident{KeyBytes: 4, Rows: [2]int64{1 << 25, 1 << 27}, Payload: [2][]int{{4}, widthsOf(n, 4)}, MatchRatio: 1}
	}
	out.Shape = shapeThen(name, out)
	out.TableBytes = 16 << bits.Len64(uint64(out.Rows[0]-1))
	out.SortPasses = 3
	if out.Rows[0] <= 1<<20 {
		out.SortPasses = 2
	}
	return out
}

// shapeThen is how phj materialised payload when the recorded measurements were made;
// it may differ now.
func shapeThen(name string, j costmodel.Resident) func(costmodel.Materialisation) (costmodel.Materialisation, [2]costmodel.Carried) {
	words := [2]int{fieldWords(j.Payload[0]), fieldWords(j.Payload[1])}
	return func(m costmodel.Materialisation) (costmodel.Materialisation, [2]costmodel.Carried) {
		for _, t := range []*costmodel.Transform{&m.Build, &m.Probe} {
			if *t == costmodel.Pack { // no payload was packed
				*t = costmodel.Carry
			}
		}
		switch {
		case name == "mixed": // carrying both sides would need too much memory
			m.Probe = costmodel.Fetch
		case words[1] > 4 && (m.Build == costmodel.Fetch || words[1]%2 == 1):
			m.Probe = costmodel.Fetch // padding columns or fields would need too much
		case m.Probe == costmodel.Place && j.MatchRatio == 1: // placed payload plus the result would
			m.Probe = costmodel.Carry
		}
		one := j.Rows[0] <= 1<<20 && m.Build == costmodel.Fetch && m.Probe == costmodel.Fetch
		var c [2]costmodel.Carried
		for i, t := range [2]costmodel.Transform{m.Build, m.Probe} {
			c[i] = costmodel.Carried{Words: words[i], OnePass: one}
			if t == costmodel.Fetch {
				c[i].Words = 1
			}
		}
		if name == "mixed" && m.Build == costmodel.Carry {
			c[0].Fields, c[0].AsPacked = words[0], true
		}
		return m, c
	}
}

func fieldWords(widths []int) (n int) {
	for _, w := range widths {
		n += (w + 3) / 4
	}
	return n
}
