package textcodes_test

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"

	"gpujoin/joincore"
	"gpujoin/joincore/cpu"
	"gpujoin/joincore/device"
	"gpujoin/joincore/exec"
	"gpujoin/joincore/textcodes"
	"gpujoin/testsupport/bulk"
	"gpujoin/testsupport/suite"
)

// TestManyParts compares with the cores what several workers encode of segments of several
// parts: few and many groups, short texts, empty ones and some of kilobytes, NULLs.
func TestManyParts(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(16))
	text, number := joincore.ColumnRef{Column: 0}, joincore.ColumnRef{Column: 1}
	half := &joincore.Substring{Arg: text, From: 2, For: 5, Characters: joincore.UTF8}
	for _, c := range []struct {
		name string
		rows []int // by segment
		many int   // different texts
		long int   // bytes of some of them
		keys []joincore.Value
	}{
		{"few", []int{140_003, 0, 70_001, 1}, 3, 9, []joincore.Value{text}},
		{"long", []int{100_003, 70_001}, 100, 5000, []joincore.Value{text, number}},
		{"computed", []int{70_003, 70_001}, 30_000, 9, []joincore.Value{half, text}},
		{"many", []int{200_003, 70_001}, 50_000, 9, []joincore.Value{text}},
		{"different", []int{140_003, 70_001}, 1 << 40, 9, []joincore.Value{half, text}},
	} {
		t.Run(c.name, func(t *testing.T) {
			in := manyTexts(c.rows, c.many, c.long)
			like := &joincore.Like{Arg: text, Pattern: []byte("%1%"), Encoding: joincore.UTF8}
			a := &joincore.Aggregate{Child: &joincore.Scan{}, ID: 1, Keys: c.keys, Functions: []joincore.Function{
				{Kind: joincore.Count},
				{Kind: joincore.Count, Arg: text},
				{Kind: joincore.Sum, Arg: number, Filter: like},
				{Kind: joincore.Sum, Arg: &joincore.Case{Whens: []joincore.When{{Condition: like, Then: number}}, Else: joincore.Null{Width: 8}}},
				{Kind: joincore.Count, Arg: &joincore.Truth{Arg: &joincore.IsNull{Arg: half}}},
			}}
			plan := &joincore.Plan{Inputs: []joincore.Input{{Columns: in.Columns}}, Root: a}
			for i := range len(a.Keys) + len(a.Functions) {
				plan.Output = append(plan.Output, joincore.ColumnRef{Input: 1, Column: i})
			}
			results := []*suite.Collector{}
			for _, p := range []device.Provider{cpu.New(), textcodes.New(words{&bulk.Provider{Inner: cpu.New()}})} {
				sink := suite.NewCollector(plan, 1<<14)
				if err := suite.Run(t.Context(), p, plan, []*joincore.Relation{in}, &suite.Arena{}, sink, exec.Options{}, nil); err != nil {
					t.Fatal(err)
				}
				results = append(results, sink)
			}
			if d := results[1].Difference(results[0].Result()); d != "" {
				t.Error(d)
			}
		})
	}
}

// manyTexts makes segments of texts, some NULL or empty, and numbers.
func manyTexts(rows []int, many, long int) *joincore.Relation {
	r := rand.New(rand.NewPCG(1, 2))
	out := &joincore.Relation{Columns: []joincore.Column{{Kind: joincore.Varlena, Align: 4}, {Kind: joincore.Fixed, Width: 4, Align: 4}}}
	for _, n := range rows {
		text := joincore.Vector{Values: make([]byte, 4), Validity: make([]byte, (n+7)/8)}
		var number joincore.Vector
		for i := range n {
			x := r.IntN(many)
			if null := x%50 == 7; !null {
				text.Validity[i/8] |= 1 << (i % 8)
				payload := fmt.Appendf(nil, "é%d", x)
				if x%31 == 5 {
					payload = nil
				} else if x%97 == 3 {
					payload = append(payload, make([]byte, long)...)
				}
				text.Heap = append(text.Heap, suite.FedText(payload, 4)...)
			}
			text.Values = binary.LittleEndian.AppendUint32(text.Values, uint32(len(text.Heap)))
			number.Values = binary.LittleEndian.AppendUint32(number.Values, uint32(x%4))
		}
		out.Segments = append(out.Segments, joincore.Segment{Rows: n, Columns: []joincore.Vector{text, number}})
	}
	return out
}
