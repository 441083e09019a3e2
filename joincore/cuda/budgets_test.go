//go:build cuda

package cuda

import (
	"slices"
	"testing"

	"gpujoin/joincore"
	"gpujoin/joincore/costmodel"
	"gpujoin/joincore/cuda/driver"
	"gpujoin/joincore/device"
	"gpujoin/joincore/exec"
	"gpujoin/joincore/multi"
	"gpujoin/testsupport/suite"
)

// TestDevicesWithDifferentMemory: rows [0, n) are joined with [n/2, n/2 + m) on two devices,
// or on one that acts as both. The build side is read whole where it fits both, and
// partitioned together where it exceeds one of them, whichever that is, or both.
func TestDevicesWithDifferentMemory(t *testing.T) {
	all, err := driver.Devices()
	if err != nil {
		t.Fatal(err)
	}
	heap := func(n int) []byte { return make([]byte, n) }
	for _, budgets := range [][2]int64{{192 << 20, 512 << 20}, {512 << 20, 192 << 20}} {
		var members []device.Provider
		devices := []int{0, len(all) - 1}
		for i, ordinal := range devices {
			p, err := New(Config{Ordinal: ordinal, Budget: budgets[i], Streams: 2, Peers: devices})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := p.Close(); err != nil {
					t.Error(err)
				}
			})
			members = append(members, p)
		}
		both := multi.Together("cuda", members, costmodel.Auto)
		for _, c := range []struct {
			build, probe int64
			together     bool
		}{{100_000, 3_000_000, false}, {4_000_000, 5_000_001, true}, {9_000_000, 9_000_001, true}} {
			n, m := c.build, c.probe
			inputs := []*joincore.Relation{numberedInput(n/2, m, heap), numberedInput(0, n, heap)}
			plan := suite.PairPlan(inputs[0], inputs[1])
			plan.Output = []joincore.ColumnRef{{Input: 0, Column: 1}, {Input: 1, Column: 1}}
			sink, mem := newPayloads(8, 1<<16, heap), &suite.Arena{}
			var stats joincore.Stats
			if err := suite.Run(t.Context(), both, plan, inputs, mem, sink, exec.Options{}, &stats); err != nil {
				t.Errorf("%d x %d with %d bytes: %v", n, m, budgets, err)
				continue
			}
			want := total(n/2, n)
			if sink.rows != n-n/2 || sink.sum != [2]uint64{want, want} || sink.odd != 0 || mem.InUse() != 0 {
				t.Errorf("%d x %d with %d bytes: %d rows, sums %v, %d odd; want %d rows, sums %d", n, m, budgets, sink.rows, sink.sum, sink.odd, n-n/2, want)
			}
			partitioned := slices.ContainsFunc(stats.Joins[0].Phases, func(p joincore.Phase) bool { return p.Name == "partition out of core" })
			if stats.Devices != 2 || stats.Alone != "" || partitioned != c.together {
				t.Errorf("%d x %d with %d bytes: %+v", n, m, budgets, stats)
			}
		}
	}
}
