package cpu

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"gpujoin/joincore/device"
)

// TestMergePathDividesTheWork: parts cover all rows of the probe side, are
// equal in steps, and begin at the first partner of their first row.
func TestMergePathDividesTheWork(t *testing.T) {
	for name, key := range keyDistributions {
		for _, sizes := range [][2]int{{0, 0}, {0, 9}, {9, 0}, {1, 1}, {1000, 1}, {1, 1000}, {5000, 3000}, {200, 9000}} {
			d := openDev(t, 2, 0)
			var sides [2]*space
			for i, n := range sizes {
				r := rand.New(rand.NewPCG(uint64(n), uint64(i)))
				rows := make([]keyedRow, n)
				for j := range rows {
					rows[j] = keyedRow{key: key(r, j)}
				}
				sorted, err := d.Sort(context.Background(), importRows(t, d, i, rows, 700), device.TransformSpec{Key: keyOf(i)})
				if err != nil {
					t.Fatal(err)
				}
				sides[i] = asSpace(sorted)
			}
			build, probe := sides[0].sortedKeys(), sides[1].sortedKeys()
			for _, parts := range []int{1, 3, 16} {
				points, err := d.MergePath(context.Background(), sides[0], sides[1], parts)
				if err != nil {
					t.Fatal(err)
				}
				name := fmt.Sprintf("%s, %d x %d, %d parts: %v", name, len(build), len(probe), parts, points)
				if len(points) != parts+1 || points[0].Probe != 0 || points[parts].Probe != int64(len(probe)) {
					t.Fatalf("%s: ends", name)
				}
				for i, p := range points[:parts] {
					n := points[i+1].Probe - p.Probe
					if most := (len(build)+len(probe))/parts + parts; n < 0 || n > int64(most) {
						t.Fatalf("%s: part %d has %d probe rows", name, i, n)
					}
					if int(p.Probe) == len(probe) {
						continue
					}
					first, _ := slices.BinarySearchFunc(build, probe[p.Probe], func(a, b uint64) int { return cmp.Compare(int64(a), int64(b)) })
					if int(p.Build) != first {
						t.Fatalf("%s: part %d begins at build row %d, not %d", name, i, p.Build, first)
					}
				}
			}
		}
	}
}
