//go:build cuda

package cuda

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"gpujoin/joincore"
	"gpujoin/joincore/costmodel"
	"gpujoin/joincore/cuda/driver"
	"gpujoin/joincore/device"
	"gpujoin/joincore/exec"
	"gpujoin/joincore/multi"
	trials "gpujoin/testsupport/columnartest"
	"gpujoin/testsupport/machines"
	"gpujoin/testsupport/suite"
)

const apart = "cuda_peer_access is off"

// devicesApart are devices that do not access each other's memory, one for each ordinal.
func devicesApart(t *testing.T, budget, window int64, ordinals ...int) (members []device.Provider) {
	t.Helper()
	m, err := machines.Mesh("hgx-h200")
	if err != nil {
		t.Fatal(err)
	}
	for i, ordinal := range ordinals {
		p := opened(t, Config{Ordinal: ordinal, Budget: budget, Streams: 2, Peers: ordinals, Apart: apart})
		p.UseMesh(m, i)
		p.outOfCore.WindowRows = window
		members = append(members, p)
	}
	return members
}

// layoutsApart are the devices of tests: two providers of one device, and two devices.
func layoutsApart(t *testing.T) [][]int {
	t.Helper()
	all, err := driver.Devices()
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 2 {
		t.Log("one device: nothing passes through the memory of the host")
		return [][]int{{0, 0}}
	}
	return [][]int{{0, 0}, {0, 1}}
}

// TestSuiteOfStagedTeams has devices that do not access each other's memory exchange the rows of joins.
func TestSuiteOfStagedTeams(t *testing.T) {
	for _, ordinals := range layoutsApart(t) {
		t.Run(fmt.Sprint(ordinals), func(t *testing.T) {
			p := multi.Together("cuda", devicesApart(t, 128<<20, 50, ordinals...), costmodel.Exchange)
			s := suite.Subject{Provider: p, Algorithms: algorithms, Thin: *thin * 24, Offset: trials.Source(t).Uint64N(1 << 32), OwnMemory: true}
			for _, part := range []func(*testing.T, suite.Subject){suite.Matrix, suite.Sizes, suite.Trees, suite.Aggregates, suite.Skew, suite.Cancel} {
				part(t, s)
			}
		})
	}
}

// Rows that are exchanged through the memory of the host are those of the result, fewer bytes of them than there
// are, because they are compressed; what devices cannot do without access to each other's memory, they
// refuse. The host memory is that of joins out of core, as much for each join, and the job has it until the
// end of the meeting, also if there is not enough of it, or of the devices' memory, or the caller gives up.
func TestStagedTeams(t *testing.T) {
	const rows = 4 << 20
	input := suite.Keyed(rows, func(row int) uint64 { return uint64(row) })
	small := suite.Keyed(5000, func(row int) uint64 { return uint64(row) })
	for _, ordinals := range layoutsApart(t) {
		members := devicesApart(t, 2<<30, 0, ordinals...)
		first := members[0].(*Provider)
		if why := multi.Staged(members, costmodel.Exchange); why != apart {
			t.Errorf("%v: rows pass through the memory of the host because %q", ordinals, why)
		}
		if why := multi.Unable(members, costmodel.Spread); why != apart {
			t.Errorf("%v: devices make no table because %q", ordinals, why)
		}
		if got := len(first.Peers()); got != 0 {
			t.Errorf("%v: %d devices access the memory of the first", ordinals, got)
		}
		p := multi.Together("cuda", members, costmodel.Exchange)
		kept := int64(0)
		if ordinals[1] != ordinals[0] {
			kept = 2 * 8 << 20 // two halves of 4 MB for each direction
		}
		run := func(ctx context.Context, r *joincore.Relation, memory *suite.Arena) (stats joincore.Stats, err error) {
			sink := &equalPairs{Discarder: suite.NewDiscarder(suite.Int64Columns(2), 4, 1<<16)}
			err = suite.Run(ctx, p, suite.PairPlan(r, r), []*joincore.Relation{r, r}, memory, sink, exec.Options{}, &stats)
			if n := sink.different.Load(); n > 0 {
				t.Errorf("%v: %d rows are wrong", ordinals, n)
			}
			if n := memory.InUse(); n != 0 {
				t.Errorf("%v: %d bytes of the job's memory are left", ordinals, n)
			}
			return stats, err
		}
		for range 3 {
			stats, err := run(t.Context(), input, &suite.Arena{})
			if err != nil || stats.Alone != "" || stats.RowsOut != rows {
				t.Errorf("%v: %v, %d rows, %q", ordinals, err, stats.RowsOut, stats.Alone)
			}
			if !strings.Contains(stats.Joins[0].Algorithm, "+exchange") {
				t.Errorf("%v: %s", ordinals, stats.Joins[0].Algorithm)
			}
			const raw = rows * 16 // half of the rows of both sides
			t.Logf("%v: %d bytes crossed the links, %d as they were, in %v", ordinals, stats.Sent, raw, stats.JoinTime)
			if stats.Sent == 0 || stats.Sent > raw*3/4 {
				t.Errorf("%v: %d bytes crossed the links, of %d", ordinals, stats.Sent, raw)
			}
			if first.Settle(); first.Kept() != kept {
				t.Errorf("%v: %d bytes of host memory stay, want %d", ordinals, first.Kept(), kept)
			}
		}
		if kept > 0 {
			stats, err := run(t.Context(), input, &suite.Arena{Limit: 4 << 20})
			if err == nil && (stats.Alone == "" || stats.RowsOut != rows) {
				t.Errorf("%v, too little host memory: %+v", ordinals, stats)
			}
		}
		cancelled, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := run(cancelled, small, &suite.Arena{}); !errors.Is(err, context.Canceled) {
			t.Errorf("%v: %v", ordinals, err)
		}
		if stats, err := run(t.Context(), small, &suite.Arena{}); err != nil || stats.Alone != "" || stats.RowsOut != 5000 {
			t.Errorf("%v: %v, %+v", ordinals, err, stats)
		}
		if first.Settle(); first.Kept() != kept {
			t.Errorf("%v: %d bytes of host memory stay in the end, want %d", ordinals, first.Kept(), kept)
		}
	}
}

// The rows of one key are more than a device has memory for: one device joins alone, and nothing is left.
func TestAStagedTeamFails(t *testing.T) {
	const rows = 1 << 20
	for _, ordinals := range layoutsApart(t) {
		p := multi.Together("cuda", devicesApart(t, 64<<20, 0, ordinals...), costmodel.Exchange)
		one, eight := suite.Keyed(rows, func(int) uint64 { return 7 }), suite.Keyed(8, func(int) uint64 { return 7 })
		for _, build := range []*joincore.Relation{one, eight} {
			var stats joincore.Stats
			memory := &suite.Arena{}
			sink := suite.NewDiscarder(suite.Int64Columns(2), 4, 1<<16)
			err := suite.Run(t.Context(), p, suite.PairPlan(build, eight), []*joincore.Relation{build, eight}, memory, sink, exec.Options{}, &stats)
			if err == nil && stats.RowsOut != 8*build.Rows() || memory.InUse() != 0 {
				t.Errorf("%v: %v, %+v, %d bytes are left", ordinals, err, stats, memory.InUse())
			}
		}
	}
}
