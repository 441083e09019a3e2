//go:build cuda

package cuda

import (
	"encoding/binary"
	"slices"
	"testing"

	"gpujoin/joincore"
	"gpujoin/joincore/exec"
	"gpujoin/testsupport/oracle"
	"gpujoin/testsupport/suite"
)

// keyedInput makes rows with key columns of such widths and a payload of 8 bytes.
// Every nullEvery rows one part of the key is NULL; 0: none, but with bitmaps.
func keyedInput(rows, distinct, nullEvery int, widths ...int) *joincore.Relation {
	r := &joincore.Relation{}
	for _, w := range append(slices.Clone(widths), 8) {
		r.Columns = append(r.Columns, joincore.Column{Kind: joincore.Fixed, Width: w, Align: w})
	}
	const segment = 700
	for first := 0; first < rows; first += segment {
		s := joincore.Segment{Rows: min(segment, rows-first)}
		for j, c := range r.Columns {
			v := joincore.Vector{Values: make([]byte, s.Rows*c.Width)}
			if j < len(widths) {
				v.Validity = slices.Repeat([]byte{0xff}, (s.Rows+7)/8)
			}
			for i := range s.Rows {
				row := first + i
				x := uint64(row)
				if j < len(widths) {
					x = uint64(row%distinct+j) - uint64(distinct)/2 // some are below 0
					if nullEvery > 0 && row%nullEvery == 0 && row%len(widths) == j {
						v.Validity[i/8] &^= 1 << (i % 8)
					}
				}
				copy(v.Values[i*c.Width:], binary.LittleEndian.AppendUint64(nil, x)[:c.Width])
			}
			s.Columns = append(s.Columns, v)
		}
		r.Segments = append(r.Segments, s)
	}
	return r
}

// TestMaterialisedKeys: sides are joined materialised where keys may be NULL, are some or
// all of them, differ in width, or have several parts.
func TestMaterialisedKeys(t *testing.T) {
	p := provider(t, 256<<20)
	for _, c := range []struct {
		name        string
		left, right []int // widths
		nulls       int   // one row in this number
	}{
		{"int8, none of them NULL", []int{8}, []int{8}, 0},
		{"int8", []int{8}, []int{8}, 5},
		{"int4", []int{4}, []int{4}, 3},
		{"int4, all of them NULL", []int{4}, []int{4}, 1},
		{"int2=int8", []int{2}, []int{8}, 7},
		{"int4+int4", []int{4, 4}, []int{4, 4}, 5},
		{"int2+int4=int4+int2", []int{2, 4}, []int{4, 2}, 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			inputs := []*joincore.Relation{keyedInput(1500, 1000, c.nulls, c.left...), keyedInput(1100, 1000, c.nulls, c.right...)}
			join := &joincore.Join{Kind: joincore.Inner, Left: &joincore.Scan{}, Right: &joincore.Scan{Input: 1}}
			plan := &joincore.Plan{Inputs: []joincore.Input{{Columns: inputs[0].Columns}, {Columns: inputs[1].Columns}}, Root: join}
			for i := range c.left {
				join.Keys = append(join.Keys, joincore.KeyPair{
					Left: joincore.ColumnRef{Column: i}, Right: joincore.ColumnRef{Input: 1, Column: i}, Class: joincore.KeyInt,
				})
			}
			for input := range inputs {
				for column := range len(c.left) + 1 {
					plan.Output = append(plan.Output, joincore.ColumnRef{Input: input, Column: column})
				}
			}
			want, err := oracle.Run(plan, inputs)
			if err != nil {
				t.Fatal(err)
			}
			for _, a := range joincore.Algorithms {
				sink := suite.NewCollector(plan, 300)
				plan.Algorithm = a
				var stats joincore.Stats
				if err := suite.Run(t.Context(), p, plan, inputs, nil, sink, exec.Options{}, &stats); err != nil {
					t.Fatal(err)
				}
				if diff := sink.Difference(want); diff != "" {
					t.Errorf("%v:\n%s", a, diff)
				}
				isTransfer := func(p joincore.Phase) bool { return p.Name == phaseTransfer }
				if j := stats.Joins[0]; !slices.ContainsFunc(j.Phases, isTransfer) { // only whole sides have that one
					t.Errorf("%v went by row numbers: %+v", a, j)
				} else if all := c.nulls == 1; !all && !a.Executed(j.Algorithm) {
					t.Errorf("%v was executed by %s: %s", a, j.Algorithm, j.Reason)
				}
			}
		})
	}
}
