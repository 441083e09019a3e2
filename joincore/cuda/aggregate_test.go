//go:build cuda

package cuda

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gpujoin/joincore"
	"gpujoin/joincore/cpu"
	"gpujoin/joincore/cuda/kernels"
	"gpujoin/joincore/cuda/rowid"
	"gpujoin/joincore/device"
	"gpujoin/joincore/exec"
	"gpujoin/testsupport/oracle"
	"gpujoin/testsupport/suite"
)

// groupedInput makes rows of keys of 4 and 8 bytes out of the given number of groups,
// and of values, small and extreme; every column has NULLs.
func groupedInput(r *rand.Rand, rows, groups int) *joincore.Relation {
	widths := []int{4, 8, 8, 4, 2}
	rel := &joincore.Relation{}
	for _, w := range widths {
		rel.Columns = append(rel.Columns, joincore.Column{Kind: joincore.Fixed, Width: w, Align: w})
	}
	const segment = 1 << 18
	for at := 0; at < rows; at += segment {
		s := joincore.Segment{Rows: min(segment, rows-at)}
		for range widths {
			s.Columns = append(s.Columns, joincore.Vector{Validity: make([]byte, (s.Rows+7)/8)})
		}
		for i := range s.Rows {
			group := r.IntN(groups)
			for c, v := range []uint64{uint64(group), spread(int64(group)) - 1<<63, r.Uint64(), uint64(r.IntN(2000) - 1000), uint64(r.IntN(3))} {
				if c == 1 && group == 1 {
					v = 1 << 63 // the key that a free slot has
				}
				if c == 2 && r.IntN(4) > 0 {
					v = uint64(int64(v) >> 40)
				}
				vector := &s.Columns[c]
				if null := c < 2 && group == 2 || c >= 2 && r.IntN(8) == 0; !null {
					vector.Validity[i/8] |= 1 << (i % 8)
				}
				vector.Values = append(vector.Values, binary.LittleEndian.AppendUint64(nil, v)[:widths[c]]...)
			}
		}
		rel.Segments = append(rel.Segments, s)
	}
	return rel
}

// TestAggregatesOfManyRows compares aggregates of few and of many groups, with keys of
// one and of several words, on the device and on cores, of which the suite compares
// small ones with the oracle.
func TestAggregatesOfManyRows(t *testing.T) {
	aggregatesOfManyRows(t, provider(t, 4<<30))
}

// TestSpecialisedAggregatesOfManyRows does the same with kernels that are compiled for
// each program at its first launch.
func TestSpecialisedAggregatesOfManyRows(t *testing.T) {
	p := provider(t, 4<<30)
	specialised(p)
	aggregatesOfManyRows(t, p)
	n, took := p.general.Specialised()
	t.Logf("%d kernels, compiled in %v", n, took)
	if n < 10 {
		t.Errorf("%d kernels were compiled", n)
	}
}

// specialised has a provider compile a kernel for each program that groups rows.
func specialised(p *Provider) {
	p.general.Specialise(rowid.Specialise{Text: kernels.Fixed, After: 1, Wait: true})
}

func aggregatesOfManyRows(t *testing.T, p *Provider) {
	rows := 3_000_000
	if testing.Short() {
		rows = 50_000
	}
	column := func(c int) joincore.Value { return joincore.ColumnRef{Column: c} }
	for _, groups := range []int{1, 4, 1000, 20_000, 700_000} {
		r := rand.New(rand.NewPCG(uint64(groups), 5))
		input := groupedInput(r, rows, groups)
		for name, keys := range map[string][]joincore.Value{
			"no key": {}, "4 bytes": {column(0)}, "8 bytes": {column(1)}, "both": {column(0), column(1)}, "three": {column(1), column(0), column(4)},
			"computed": {&joincore.Arithmetic{Op: joincore.Modulo, Width: 4, Left: column(0), Right: joincore.Int(1000)}},
		} {
			for i, expected := range []float64{0, float64(groups), float64(groups)} {
				a := &joincore.Aggregate{Child: &joincore.Filter{
					Child: &joincore.Scan{}, Predicate: &joincore.Compare{Op: joincore.Greater, Left: column(3), Right: joincore.Int(-900)},
				}, ID: 1, Keys: keys, Rows: expected}
				wide := &joincore.Arithmetic{Op: joincore.Multiply, Width: 16, Left: column(2), Right: column(3)}
				a.Functions = []joincore.Function{
					{Kind: joincore.Count}, {Kind: joincore.Count, Arg: column(2)}, {Kind: joincore.Sum, Arg: column(2)},
					{Kind: joincore.Sum, Arg: wide}, {Kind: joincore.Min, Arg: column(2)}, {Kind: joincore.Max, Arg: column(3)},
					{Kind: joincore.BoolAnd, Arg: column(4)}, {Kind: joincore.BoolOr, Arg: column(4)},
					{Kind: joincore.SumOfSquares, Arg: column(3)},
					{Kind: joincore.Sum, Arg: column(3), Filter: &joincore.Compare{Op: joincore.Equal, Left: column(4), Right: joincore.Int(1)}},
				}
				if i == 1 && (len(keys) == 0 || name == "both") {
					a.Functions = append(a.Functions,
						joincore.Function{Kind: joincore.Count, Arg: column(4), Distinct: true},
						joincore.Function{Kind: joincore.Sum, Arg: column(3), Distinct: true},
						joincore.Function{Kind: joincore.Count, Arg: column(2), Distinct: true},
						joincore.Function{Kind: joincore.Sum, Arg: wide, Distinct: true, Filter: &joincore.Compare{Op: joincore.Less, Left: column(3), Right: joincore.Int(0)}},
					)
				}
				if i == 2 { // nothing has 16 bytes: kernels with values of 8 bytes
					a.Functions = slices.DeleteFunc(a.Functions, func(f joincore.Function) bool {
						return f.Arg == joincore.Value(wide) || f.Kind == joincore.SumOfSquares
					})
				}
				plan := &joincore.Plan{Inputs: []joincore.Input{{Columns: input.Columns}}, Root: a}
				for i := range len(a.Keys) + len(a.Functions) {
					plan.Output = append(plan.Output, joincore.ColumnRef{Input: 1, Column: i})
				}
				var results []*suite.Collector
				for _, provider := range []device.Provider{cpu.New(), p} {
					sink, mem := suite.NewCollector(plan, 1<<14), &suite.Arena{}
					var stats joincore.Stats
					if err := suite.Run(t.Context(), provider, plan, []*joincore.Relation{input}, mem, sink, exec.Options{}, &stats); err != nil {
						t.Fatalf("%d groups, %s: %s: %v", groups, name, provider.Name(), err)
					}
					results = append(results, sink)
				}
				if diff := results[1].Difference(results[0].Result()); diff != "" {
					t.Fatalf("%d groups, %s, %v expected:\n%s", groups, name, expected, diff)
				}
			}
		}
	}
}

// TestAggregatesInWindows: an input is grouped part by part if the device has little
// memory.
func TestAggregatesInWindows(t *testing.T) {
	p := provider(t, 192<<20)
	n := int64(8_000_000)
	input := numberedInput(0, n, func(n int) []byte { return make([]byte, n) })
	value := joincore.ColumnRef{Column: 1}
	plan := &joincore.Plan{Inputs: []joincore.Input{{Columns: input.Columns}}}
	plan.Root = &joincore.Aggregate{
		Child: &joincore.Scan{}, ID: 1, Keys: []joincore.Value{&joincore.Arithmetic{Op: joincore.Modulo, Width: 8, Left: value, Right: joincore.Int(7)}},
		Functions: []joincore.Function{
			{Kind: joincore.Count}, {Kind: joincore.Sum, Arg: value}, {Kind: joincore.Max, Arg: value},
			{Kind: joincore.Count, Arg: &joincore.Arithmetic{Op: joincore.Modulo, Width: 8, Left: value, Right: joincore.Int(7 * 11)}, Distinct: true},
		},
	}
	for i := range 5 {
		plan.Output = append(plan.Output, joincore.ColumnRef{Input: 1, Column: i})
	}
	want := oracle.Rows{}
	for k := range int64(7) {
		count := (n - k + 6) / 7
		last := k + 7*(count-1)
		row := []byte(nil)
		for _, v := range []int64{k, count} {
			row = oracle.AppendValue(row, binary.LittleEndian.AppendUint64(nil, uint64(v)), false)
		}
		sum := binary.LittleEndian.AppendUint64(nil, uint64((k+last)*count/2))
		row = oracle.AppendValue(row, binary.LittleEndian.AppendUint64(sum, 0), false)
		for _, v := range []int64{last, 11} {
			row = oracle.AppendValue(row, binary.LittleEndian.AppendUint64(nil, uint64(v)), false)
		}
		want[string(row)]++
	}
	sink, mem := suite.NewCollector(plan, 16), &suite.Arena{}
	var stats joincore.Stats
	if err := suite.Run(t.Context(), p, plan, []*joincore.Relation{input}, mem, sink, exec.Options{}, &stats); err != nil {
		t.Fatal(err)
	}
	if diff := sink.Difference(want); diff != "" || len(stats.Aggregates) != 1 || stats.Aggregates[0].RowsIn != n {
		t.Errorf("%+v\n%s", stats.Aggregates, diff)
	}
}

// TestAggregatesThatFail: what SQL would report ends the job, and the device goes on.
func TestAggregatesThatFail(t *testing.T) {
	p := provider(t, 192<<20)
	input := numberedInput(0, 100_000, func(n int) []byte { return make([]byte, n) })
	value := joincore.ColumnRef{Column: 1}
	for name, arg := range map[string]joincore.Value{
		"overflow": &joincore.Arithmetic{Op: joincore.Multiply, Width: 8, Left: value, Right: joincore.Int(math.MaxInt64 / 50_000)},
		"division": &joincore.Arithmetic{Op: joincore.Divide, Width: 8, Left: joincore.Int(1), Right: value},
	} {
		plan := &joincore.Plan{Inputs: []joincore.Input{{Columns: input.Columns}}, Output: []joincore.ColumnRef{{Input: 1}}}
		plan.Root = &joincore.Aggregate{Child: &joincore.Scan{}, ID: 1, Functions: []joincore.Function{{Kind: joincore.Sum, Arg: arg}}}
		sink, mem := suite.NewCollector(plan, 16), &suite.Arena{}
		err := suite.Run(t.Context(), p, plan, []*joincore.Relation{input}, mem, sink, exec.Options{}, nil)
		if fmt.Sprint(err) != joincore.ErrArithmetic.Error() || mem.InUse() != 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
}
