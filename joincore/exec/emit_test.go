package exec

import (
	"testing"

	"gpujoin/joincore/device"
)

// gathering is a device with a number of streams.
type gathering struct {
	device.Device
	streams int
}

func (g gathering) Streams() int { return g.streams }
func (gathering) ChunkRows() int { return 1 << 18 }

// All streams gather rows of which cores copy values, unless these are few. The device gathers the others in
// large parts.
func TestPartsOfGatheredRows(t *testing.T) {
	for _, c := range []struct {
		streams int
		widths  []int
		rows    []int // of segments
		parts   int
	}{
		{8, []int{8, 4}, []int{400_000}, 1},
		{8, []int{8, 4}, []int{5 << 20}, 3},
		{8, []int{8, 0}, []int{400_000}, 16},
		{1, []int{0}, []int{400_000}, 2},
		{8, []int{0}, []int{leastCopied}, 1},
		{8, []int{0}, []int{3 * leastCopied}, 3},
		{8, []int{0}, []int{1 << 30}, 1 << 30 >> 21},
		{2, []int{0}, []int{100_000, 0, 100_000}, 4},
		{8, []int{0}, nil, 0},
	} {
		var segments []device.Segment
		all := 0
		for _, n := range c.rows {
			segments = append(segments, device.Segment{Rows: n})
			all += n
		}
		g := NewGatherer(gathering{streams: c.streams}, &Output{Widths: c.widths})
		parts := g.parts(segments)
		if len(parts) != c.parts {
			t.Errorf("%+v: %d parts", c, len(parts))
		}
		for _, p := range parts {
			all -= p.n
		}
		if all != 0 {
			t.Errorf("%+v: %d rows are in no part", c, all)
		}
	}
}
