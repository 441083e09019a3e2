//go:build cuda

package rowid

import (
	"encoding/binary"
	"slices"
	"testing"

	"gpujoin/joincore"
	"gpujoin/testsupport/columnartest"
	"gpujoin/testsupport/oracle"
)

// conditionColumns are what conditions are about; the last numbers the rows.
var conditionColumns = []joincore.Column{fixed(1), fixed(2), fixed(4), fixed(8), fixed(8)}

// randomCondition makes a random condition with small and extreme numbers.
func (r *rig) randomCondition(depth int) joincore.Expr {
	kind := r.rand.IntN(6)
	if depth == 0 {
		kind = r.rand.IntN(2)
	}
	args := func() []joincore.Expr {
		out := make([]joincore.Expr, r.rand.IntN(4))
		for i := range out {
			out[i] = r.randomCondition(depth - 1)
		}
		return out
	}
	column := func() joincore.ColumnRef { return joincore.ColumnRef{Column: r.rand.IntN(4)} }
	operand := func() joincore.Value {
		switch r.rand.IntN(5) {
		case 0:
			return joincore.Int(r.rand.IntN(9) - 4)
		case 1:
			return joincore.Int(-1 << 63)
		case 2:
			return joincore.ParameterIndex(r.rand.IntN(2))
		}
		return column()
	}
	switch kind {
	case 0:
		return &joincore.IsNull{Arg: column()}
	case 1, 2:
		return &joincore.Compare{Op: joincore.CompareOp(1 + r.rand.IntN(6)), Left: operand(), Right: operand()}
	case 3:
		return &joincore.Not{Arg: r.randomCondition(depth - 1)}
	case 4:
		return &joincore.And{Args: args()}
	}
	return &joincore.Or{Args: args()}
}

// Random conditions pass the rows that the oracle passes.
func TestConditionsAreThoseOfTheOracle(t *testing.T) {
	r := newRig(t, 64<<20)
	const rows = 300
	side := &testSide{rows: rows}
	relation := &joincore.Relation{Columns: conditionColumns, Segments: []joincore.Segment{{Rows: rows}}}
	for c, described := range conditionColumns {
		column := testColumn{described: described, values: make([][]byte, rows)}
		v := joincore.Vector{Validity: make([]byte, (rows+7)/8)}
		for i := range column.values {
			x := int64(r.rand.IntN(7) - 3)
			if c == len(conditionColumns)-1 {
				x = int64(i)
			} else if r.rand.IntN(10) == 0 {
				x = -1 << (8*described.Width - 1)
			}
			value := valueOf(described, joincore.KeyInt, x)
			v.Values = append(v.Values, value...)
			if c == len(conditionColumns)-1 || r.rand.IntN(4) > 0 {
				column.values[i] = value
				v.Validity[i/8] |= 1 << (i % 8)
			}
		}
		side.columns = append(side.columns, column)
		relation.Segments[0].Columns = append(relation.Segments[0].Columns, v)
	}
	uploaded := r.upload(0, side)
	out := r.alloc(4 * rows)
	parameters := []joincore.Parameter{{Int: 1}, {Null: true}}
	conditions := 400
	if testing.Short() {
		conditions = 20
	}
	for _, r.rand = range columnartest.Trials(t, conditions) {
		e := r.randomCondition(6)
		plan := &joincore.Plan{
			Inputs:     []joincore.Input{{Columns: conditionColumns}},
			Root:       &joincore.Filter{Child: &joincore.Scan{}, Predicate: e},
			Output:     []joincore.ColumnRef{{Column: len(conditionColumns) - 1}},
			Parameters: parameters,
		}
		result, err := oracle.Run(plan, []*joincore.Relation{relation})
		r.must(err)
		var want []uint32
		for row := range result {
			want = append(want, uint32(binary.LittleEndian.Uint64([]byte(row)[5:])))
		}
		slices.Sort(want)
		r.scoped(func() {
			n, err := r.Filter(r.ctx, uploaded, e, parameters, out)
			r.must(err)
			if got := get[uint32](r, out, n); !slices.Equal(got, want) {
				t.Fatalf("%d rows, want %d", len(got), len(want))
			}
		})
	}
}
