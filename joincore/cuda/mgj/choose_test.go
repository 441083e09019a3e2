package mgj

import (
	"slices"
	"testing"

	"gpujoin/joincore/costmodel"
)

func resident(build, probe int64, columns int) costmodel.Resident {
	w := slices.Repeat([]int{4}, columns)
	return costmodel.Resident{KeyBytes: 4, Rows: [2]int64{build, probe}, Payload: [2][]int{w, w}, MatchRatio: 1, ResultRows: probe}
}

func TestChoose(t *testing.T) {
	rates := &costmodel.DefaultDeviceRates
	for _, c := range []struct {
		name    string
		join    costmodel.Resident
		devices int
		gbps    float64
		want    Strategy
	}{
		{"large", resident(1<<27, 1<<28, 2), 2, 390, Exchange},
		{"large, eight devices", resident(1<<27, 1<<28, 2), 8, 390, Exchange},
		{"one device", resident(1<<27, 1<<28, 2), 1, 390, Alone},
		{"a slow link", resident(1<<27, 1<<28, 2), 2, 5, Alone},
		{"small", resident(1<<20, 1<<21, 2), 2, 390, Alone},
		{"a few milliseconds", resident(1<<24, 1<<25, 2), 8, 390, Exchange},
		{"a millisecond", resident(1<<23, 1<<24, 2), 2, 390, Alone},
		{"a build side of a sixteenth", resident(1<<24, 1<<28, 2), 2, 390, Replicate},
		{"a small build side", resident(1<<20, 1<<28, 2), 2, 390, Replicate},
		{"payload that is packed", resident(1<<26, 1<<27, 12), 2, 390, Exchange},
		{"payload that no kernel carries or packs", resident(1<<24, 1<<25, 200), 2, 390, Alone},
	} {
		if got := Choose(rates, c.join, c.devices, c.gbps); got.Strategy != c.want || got.MS <= 0 {
			t.Errorf("%s: %v in place of %v", c.name, got, c.want)
		}
	}
}
