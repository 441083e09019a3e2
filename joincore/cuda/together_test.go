//go:build cuda

package cuda

import (
	"fmt"
	"testing"

	"gpujoin/joincore"
	"gpujoin/joincore/costmodel"
	"gpujoin/joincore/cuda/driver"
	"gpujoin/joincore/device"
	"gpujoin/joincore/exec"
	"gpujoin/joincore/multi"
	"gpujoin/testsupport/suite"
)

// The cases of every provider pass over GPUs that execute plans together: that divide one input
// and read the others whole, or partition both inputs of a join; those that copy from each
// other, and those that do not.
func TestTogether(t *testing.T) {
	all, err := driver.Devices()
	if err != nil || len(all) == 0 {
		t.Fatalf("no device: %v", err)
	}
	lists := [][]int{{0, 0}}
	if len(all) > 1 {
		lists = append(lists, []int{0, 1})
	}
	for _, devices := range lists {
		for _, peers := range []bool{false, true} {
			t.Run(fmt.Sprintf("%v peers %v", devices, peers), func(t *testing.T) {
				var members []device.Provider
				for _, ordinal := range devices {
					c := Config{Ordinal: ordinal, Budget: 512 << 20, Streams: 2}
					if peers {
						c.Peers = devices
					}
					p, err := New(c)
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
				for _, how := range []costmodel.Strategy{costmodel.Replicate, costmodel.Divide} {
					t.Run(how.String(), func(t *testing.T) {
						s := suite.Subject{
							Provider: multi.Together("cuda", members, how), OwnMemory: true, Thin: 60,
							Algorithms: []joincore.Algorithm{joincore.NPJ, joincore.PHJUM, joincore.PHJOM, joincore.SMJUM, joincore.SMJOM},
						}
						for _, part := range []func(*testing.T, suite.Subject){suite.Matrix, suite.Sizes, suite.Trees, suite.Skew, suite.Sink, suite.Aggregates, suite.Values} {
							part(t, s)
						}
					})
				}
				shares(t, multi.Together("cuda", members, costmodel.Auto), peers)
			})
		}
	}
}

// shares: providers whose devices access each other's memory, or that are on one device, upload
// a part of the common input each.
func shares(t *testing.T, p device.Provider, want bool) {
	small := suite.Keyed(100_000, func(row int) uint64 { return uint64(row) })
	large := suite.Keyed(300_000, func(row int) uint64 { return uint64(row % 100_000) })
	plan := suite.PairPlan(small, large)
	var stats joincore.Stats
	sink := suite.NewDiscarder(suite.Int64Columns(2), 4, 1<<13)
	if err := suite.Run(t.Context(), p, plan, []*joincore.Relation{small, large}, &suite.Arena{}, sink, exec.Options{}, &stats); err != nil {
		t.Fatal(err)
	}
	if stats.RowsOut != 300_000 || stats.Devices != 2 || (stats.Sent > 0) != want {
		t.Errorf("%+v", stats)
	}
}
