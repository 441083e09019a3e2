package selector

import (
	"slices"
	"testing"

	"gpujoin/joincore"
	"gpujoin/joincore/costmodel"
)

// Columns of 16 bytes are carried while a row of them has room in the passes, and packed
// beyond; an H200 took 3.7 ms for two a side, and 4.7 to fetch them by row id.
func TestWideColumns(t *testing.T) {
	for columns, want := range map[int]costmodel.Transform{1: costmodel.Carry, 2: costmodel.Carry, 5: costmodel.Pack, 8: costmodel.Pack} {
		widths := slices.Repeat([]int{16}, columns)
		j := costmodel.Resident{KeyBytes: 4, Rows: [2]int64{1 << 24, 1 << 25}, Payload: [2][]int{widths, widths}, MatchRatio: 1}
		j = Describe(j, 1<<25, 0)
		m := costmodel.DefaultDeviceRates.Pick(j)
		shaped, _ := j.Shape(m.Materialisation)
		if m.Algorithm != joincore.PHJOM || shaped.Build != want || shaped.Probe != want {
			t.Errorf("%d columns: %v, %v and %v", columns, m.Algorithm, shaped.Build, shaped.Probe)
		}
	}
}
