package exec_test

import (
	"testing"

	"gpujoin/joincore"
	"gpujoin/joincore/cpu"
	"gpujoin/joincore/exec"
	"gpujoin/testsupport/suite"
)

// TestFiltersAreSampled: the side of which a filter leaves less is built, however large its
// input is.
func TestFiltersAreSampled(t *testing.T) {
	const large, small = 300_000, 50_000
	value := func(row int) uint64 { return uint64(row) * 0x9e3779b97f4a7c15 >> 32 % 1000 }
	relation := func(n int) *joincore.Relation {
		return suite.Int64Relation(n, 2, func(row, c int) uint64 {
			if c == 0 {
				return uint64(row % small)
			}
			return value(row)
		})
	}
	inputs := []*joincore.Relation{relation(large), relation(small)}
	for _, c := range []struct {
		below int // of 1000
		left  bool
	}{{0, true}, {10, true}, {900, false}} {
		filtered := &joincore.Filter{Child: &joincore.Scan{Input: 0}, Predicate: &joincore.Compare{
			Op: joincore.Less, Left: joincore.ColumnRef{Column: 1}, Right: joincore.Int(c.below),
		}}
		plan := &joincore.Plan{
			Inputs: []joincore.Input{{Columns: inputs[0].Columns}, {Columns: inputs[1].Columns}},
			Root: &joincore.Join{
				Kind: joincore.Inner, Left: filtered, Right: &joincore.Scan{Input: 1},
				Keys: []joincore.KeyPair{{Right: joincore.ColumnRef{Input: 1}, Class: joincore.KeyInt}},
			},
			Output: []joincore.ColumnRef{{Column: 0}},
		}
		sink := suite.NewDiscarder(suite.Int64Columns(1), 16, 1<<12)
		var stats joincore.Stats
		if err := suite.Run(t.Context(), cpu.New(), plan, inputs, &suite.Arena{}, sink, exec.Options{}, &stats); err != nil {
			t.Fatal(err)
		}
		want := int64(0)
		for row := range large {
			if value(row) < uint64(c.below) {
				want++
			}
		}
		if j := stats.Joins[0]; j.BuildLeft != c.left || sink.Rows.Load() != want {
			t.Errorf("below %d: left is built: %v; %d rows, want %d", c.below, j.BuildLeft, sink.Rows.Load(), want)
		}
	}
}
