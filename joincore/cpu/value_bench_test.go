package cpu

import (
	"encoding/binary"
	"math/rand/v2"
	"syscall"
	"testing"

	"gpujoin/joincore"
	"gpujoin/joincore/device"
)

// benchColumns: an 8-byte integer, a 4-byte date, a decimal, and text.
func benchRelation(rows int, nulls bool) *joincore.Relation {
	r := rand.New(rand.NewPCG(1, 1))
	fixed := func(width int, pick func() uint64) joincore.Vector {
		var v joincore.Vector
		for range rows {
			v.Values = append(v.Values, binary.LittleEndian.AppendUint64(nil, pick())[:width]...)
		}
		if nulls {
			for range (rows + 7) / 8 {
				v.Validity = append(v.Validity, byte(r.IntN(256)|r.IntN(256)))
			}
		}
		return v
	}
	text := joincore.Vector{Values: make([]byte, 4)}
	for range rows {
		payload := []string{"MAIL", "SHIP", "special requests", "carefully final deposits"}[r.IntN(4)]
		text.Heap = binary.LittleEndian.AppendUint32(text.Heap, uint32(len(payload)+4)<<2)
		text.Heap = append(text.Heap, payload...)
		for len(text.Heap)%4 != 0 {
			text.Heap = append(text.Heap, 0)
		}
		text.Values = binary.LittleEndian.AppendUint32(text.Values, uint32(len(text.Heap)))
	}
	return &joincore.Relation{
		Columns: []joincore.Column{
			{Kind: joincore.Fixed, Width: 8, Align: 8}, {Kind: joincore.Fixed, Width: 4, Align: 4},
			{Kind: joincore.Fixed, Width: 8, Align: 8}, {Kind: joincore.Varlena, Align: 4},
		},
		Segments: []joincore.Segment{{Rows: rows, Columns: []joincore.Vector{
			fixed(8, func() uint64 { return r.Uint64N(1000) }), fixed(4, func() uint64 { return r.Uint64N(2500) }),
			fixed(8, func() uint64 { return r.Uint64N(10_000_000) }), text,
		}}},
	}
}

// cpuTime returns the processor time of this process in nanoseconds, which a
// busy machine does not stretch as it does the wall-clock time.
func cpuTime(b *testing.B) int64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return u.Utime.Nano() + u.Stime.Nano()
}

// BenchmarkFilter reports the processor time per input row of a scan with a filter.
func BenchmarkFilter(b *testing.B) {
	const rows = 1 << 20
	column := func(c int) joincore.ColumnRef { return joincore.ColumnRef{Column: c} }
	compare := func(op joincore.CompareOp, left, right joincore.Value) joincore.Expr {
		return &joincore.Compare{Op: op, Left: left, Right: right}
	}
	and := func(args ...joincore.Expr) joincore.Expr { return &joincore.And{Args: args} }
	product := &joincore.Arithmetic{Op: joincore.Multiply, Width: 16, Left: joincore.Decimal{Column: column(2)}, Right: &joincore.Arithmetic{
		Op: joincore.Subtract, Width: 8, Left: joincore.Int(100), Right: column(0),
	}}
	for _, nulls := range []bool{false, true} {
		name := map[bool]string{false: "valid", true: "nulls"}[nulls]
		opened, err := New().Open(heapMemory{}, device.Options{Streams: 1})
		if err != nil {
			b.Fatal(err)
		}
		s, err := opened.Import(0, benchRelation(rows, nulls))
		if err != nil {
			b.Fatal(err)
		}
		for _, c := range []struct {
			name string
			expr joincore.Expr
		}{
			{"one", compare(joincore.Less, column(1), joincore.Int(1000))},
			{"range", and(compare(joincore.GreaterEqual, column(1), joincore.Int(365)), compare(joincore.Less, column(1), joincore.Int(730)))},
			{"q6", and(compare(joincore.GreaterEqual, column(1), joincore.Int(365)), compare(joincore.Less, column(1), joincore.Int(730)),
				compare(joincore.GreaterEqual, column(0), joincore.Int(50)), compare(joincore.LessEqual, column(0), joincore.Int(70)),
				compare(joincore.Less, column(2), joincore.Int(2_400_000)))},
			{"arithmetic", compare(joincore.Greater, product, joincore.Int(1<<28))},
			{"in", &joincore.In{Arg: column(0), Ints: []int64{1, 5, 99, 500, 700}}},
			{"in-text", &joincore.In{Arg: column(3), Texts: [][]byte{[]byte("MAIL"), []byte("SHIP")}}},
			{"text", compare(joincore.Equal, column(3), &joincore.Text{Bytes: []byte("MAIL")})},
			{"like", &joincore.Like{Arg: column(3), Pattern: []byte("%special%requests%"), Encoding: joincore.UTF8}},
			{"prefix", &joincore.Like{Arg: column(3), Pattern: []byte("care%"), Encoding: joincore.UTF8}},
			{"year", compare(joincore.Equal, &joincore.DatePart{Part: joincore.Year, Arg: column(1)}, joincore.Int(2003))},
		} {
			b.Run(name+"/"+c.name, func(b *testing.B) {
				st := opened.(*dev).newStream()
				f := st.NewFilter(c.expr, nil)
				b.ReportAllocs()
				before := cpuTime(b)
				for b.Loop() {
					for at := 0; at < rows; at += device.ChunkRows {
						if _, _, err := f.Apply(st.Scan(s, 0, at, device.ChunkRows)); err != nil {
							b.Fatal(err)
						}
					}
				}
				b.ReportMetric(float64(cpuTime(b)-before)/float64(b.N)/rows, "cpu-ns/row")
			})
		}
		opened.Close()
	}
}
