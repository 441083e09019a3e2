package cpu_test

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"gpujoin/joincore"
)

// BenchmarkAggregateText groups by columns of text: two of one character with
// eight functions, as TPC-H's query 1 does, and others of one to 15 with a
// count.
func BenchmarkAggregateText(b *testing.B) {
	const n = 1 << 20
	c := func(i int) joincore.Value { return joincore.ColumnRef{Column: i} }
	d := func(i int) joincore.Value { return joincore.Decimal{Column: joincore.ColumnRef{Column: i}} }
	of := func(op joincore.ArithmeticOp, l, r joincore.Value) joincore.Value {
		return &joincore.Arithmetic{Op: op, Width: 16, Left: l, Right: r}
	}
	discounted := func() joincore.Value {
		return of(joincore.Multiply, d(3), of(joincore.Subtract, joincore.Int(100), d(4)))
	}
	sum := func(v joincore.Value) joincore.Function { return joincore.Function{Kind: joincore.Sum, Arg: v} }
	count := func(v joincore.Value) joincore.Function { return joincore.Function{Kind: joincore.Count, Arg: v} }
	query1 := []joincore.Function{
		sum(d(2)), sum(d(3)), sum(discounted()), sum(of(joincore.Multiply, discounted(), of(joincore.Add, joincore.Int(100), d(5)))),
		sum(d(2)), count(d(2)), sum(d(3)), count(d(3)), sum(d(4)), count(d(4)), {Kind: joincore.Count},
	}
	relation := textRelation(n)
	for _, bench := range []struct {
		name      string
		keys      []joincore.Value
		functions []joincore.Function
	}{
		{"query 1", []joincore.Value{c(0), c(1)}, query1},
		{"1 character", []joincore.Value{c(0)}, query1[10:]},
		{"4 characters", []joincore.Value{c(6)}, query1[10:]},
		{"2 characters of more", []joincore.Value{&joincore.Substring{Arg: c(7), From: 1, For: 2, Characters: joincore.SingleByte}}, query1[10:]},
		{"15 characters", []joincore.Value{c(7)}, query1[10:]},
	} {
		b.Run(bench.name, func(b *testing.B) {
			benchAggregation(b, relation, &joincore.Aggregate{Child: &joincore.Scan{}, ID: 1, Keys: bench.keys, Functions: bench.functions}, 1)
		})
	}
}

// textRelation makes rows of two columns of one character, four decimals, a
// column of four characters and one of 15.
func textRelation(n int) *joincore.Relation {
	r := rand.New(rand.NewPCG(1, 3))
	text := func(values ...string) joincore.Vector {
		v := joincore.Vector{Values: make([]byte, 4)}
		for range n {
			value := values[r.IntN(len(values))]
			v.Heap = append(v.Heap, byte(len(value)+1)<<1|1) // as short values are fed
			v.Heap = append(v.Heap, value...)
			for len(v.Heap)%4 != 0 {
				v.Heap = append(v.Heap, 0)
			}
			v.Values = binary.LittleEndian.AppendUint32(v.Values, uint32(len(v.Heap)))
		}
		return v
	}
	number := func(below uint64) joincore.Vector {
		var v joincore.Vector
		for range n {
			v.Values = binary.LittleEndian.AppendUint64(v.Values, r.Uint64N(below))
		}
		return v
	}
	varlena, word := joincore.Column{Kind: joincore.Varlena, Align: 4}, joincore.Column{Kind: joincore.Fixed, Width: 8, Align: 8}
	return &joincore.Relation{
		Columns: []joincore.Column{varlena, varlena, word, word, word, word, varlena, varlena},
		Segments: []joincore.Segment{{Rows: n, Columns: []joincore.Vector{
			text("A", "N", "R"), text("F", "O"), number(5000), number(10_000_000), number(11), number(9),
			text("MAIL", "SHIP", "RAIL", "FOB", "AIR"), text("13-URGENT-15ch.", "22-HIGH-15chars", "31-MEDIUM-15ch."),
		}}},
	}
}
