package cpu_test

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"gpujoin/joincore"
	"gpujoin/joincore/cpu"
	"gpujoin/joincore/device"
	"gpujoin/joincore/exec"
	"gpujoin/testsupport/oracle"
	"gpujoin/testsupport/suite"
)

// TestGroupsWithLateNulls partitions rows without NULLs into blocks, then rows with
// NULLs in keys, in arguments, or in none, into the same blocks. Half of the rows
// are of one group, whose blocks fill up first.
func TestGroupsWithLateNulls(t *testing.T) {
	const n, fromHere = 15_000, 6000
	r := rand.New(rand.NewPCG(5, 6))
	column := func(value func(row int) uint64, null bool) joincore.Vector {
		v := joincore.Vector{Validity: make([]byte, (n+7)/8)}
		for row := range n {
			v.Values = binary.LittleEndian.AppendUint64(v.Values, value(row))
			if !null || row < fromHere || r.IntN(10) > 0 {
				v.Validity[row/8] |= 1 << (row % 8)
			}
		}
		return v
	}
	key := func(int) uint64 { return max(uint64(r.IntN(6000)), 3000) * sparse }
	value := func(row int) uint64 { return uint64(row) }
	word := joincore.Column{Kind: joincore.Fixed, Width: 8, Align: 8}
	for name, nulls := range map[string][2]bool{"keys": {true, false}, "arguments": {false, true}, "both": {true, true}, "none": {}} {
		relation := &joincore.Relation{
			Columns:  []joincore.Column{word, word},
			Segments: []joincore.Segment{{Rows: n, Columns: []joincore.Vector{column(key, nulls[0]), column(value, nulls[1])}}},
		}
		k, v := joincore.ColumnRef{}, joincore.ColumnRef{Column: 1}
		for _, keys := range [][]joincore.Value{{k}, {k, k}} { // one word, and a word for each
			plan := &joincore.Plan{
				Inputs: []joincore.Input{{Columns: relation.Columns}},
				Root: &joincore.Aggregate{Child: &joincore.Scan{}, ID: 1, Keys: keys, Functions: []joincore.Function{
					{Kind: joincore.Count}, {Kind: joincore.Count, Arg: v}, {Kind: joincore.Sum, Arg: v},
				}},
			}
			for i := range len(keys) + 3 {
				plan.Output = append(plan.Output, joincore.ColumnRef{Input: 1, Column: i})
			}
			want, err := oracle.Run(plan, []*joincore.Relation{relation})
			if err != nil {
				t.Fatal(err)
			}
			for _, streams := range []int{1, 3} {
				opt := exec.Options{Device: device.Options{Streams: streams, ChunkRows: 512, Groups: 300}}
				mem, sink := &suite.Arena{Poison: true}, suite.NewCollector(plan, 100)
				var stats joincore.Stats
				if err := suite.Run(t.Context(), cpu.New(), plan, []*joincore.Relation{relation}, mem, sink, opt, &stats); err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				if diff := sink.Difference(want); diff != "" {
					t.Errorf("%s, %d streams: %s", name, streams, diff)
				}
				if s := stats.Aggregates[0].Strategy; s != "partitioned" {
					t.Errorf("%s: strategy %q", name, s)
				}
			}
		}
	}
}

// TestManyGroupsStayFewInTables: of several workers, none fills its table with groups
// that it is not going to meet again; of one, and where rows of a group follow each
// other, it does.
func TestManyGroupsStayFewInTables(t *testing.T) {
	const n, groups = 40_000, 8000
	r := rand.New(rand.NewPCG(8, 9))
	word := joincore.Column{Kind: joincore.Fixed, Width: 8, Align: 8}
	strategy := func(key func(row int) uint64, streams int) string {
		var v joincore.Vector
		for row := range n {
			v.Values = binary.LittleEndian.AppendUint64(v.Values, key(row)*sparse)
		}
		relation := &joincore.Relation{Columns: []joincore.Column{word}, Segments: []joincore.Segment{{Rows: n, Columns: []joincore.Vector{v}}}}
		plan := &joincore.Plan{
			Inputs: []joincore.Input{{Columns: relation.Columns}},
			Root: &joincore.Aggregate{
				Child: &joincore.Scan{}, ID: 1, Keys: []joincore.Value{joincore.ColumnRef{}}, Functions: []joincore.Function{{Kind: joincore.Count}},
			},
			Output: []joincore.ColumnRef{{Input: 1}, {Input: 1, Column: 1}},
		}
		opt := exec.Options{Device: device.Options{Streams: streams, ChunkRows: 64, Groups: groups}}
		return suite.Check(t, "groups", cpu.New(), plan, []*joincore.Relation{relation}, 1000, opt).Aggregates[0].Strategy
	}
	chance := func(int) uint64 { return r.Uint64N(groups) }
	distinct := func(row int) uint64 { return uint64(row) % groups }
	runs := func(row int) uint64 { return uint64(row) * groups / n }
	for _, c := range []struct {
		name    string
		key     func(int) uint64
		streams int
		want    string
	}{
		{"as many by chance as fit", chance, 2, "hash"},
		{"all different at first", distinct, 2, "partitioned"},
		{"all different, one worker", distinct, 1, "hash"},
		{"one after the other", runs, 2, "hash"},
	} {
		if got := strategy(c.key, c.streams); got != c.want {
			t.Errorf("%s: strategy %q, want %q", c.name, got, c.want)
		}
	}
}
