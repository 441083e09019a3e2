package mirror

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"runtime"
	"syscall"
	"testing"
	"time"

	"gpujoin/joincore"
	"gpujoin/sidecar/mirror/encode"
	"gpujoin/sidecar/mirror/pgout"
)

// orders is TPC-H's table, and how its columns are encoded.
func orders(t testing.TB) (*Table, encode.Columns) {
	t.Helper()
	table := &Table{Schema: "public", Name: "orders", OID: 1, Key: []int{0}}
	var columns encode.Columns
	for i, c := range []struct {
		name string
		encode.Type
	}{
		{"o_orderkey", encode.Type{OID: 20}}, {"o_custkey", encode.Type{OID: 23}}, {"o_orderstatus", encode.Type{OID: 1042}},
		{"o_totalprice", encode.Type{OID: 1700, Form: encode.Decimal, Scale: 2}}, {"o_orderdate", encode.Type{OID: 1082}},
		{"o_orderpriority", encode.Type{OID: 1042}}, {"o_clerk", encode.Type{OID: 1042}}, {"o_shippriority", encode.Type{OID: 23}},
		{"o_comment", encode.Type{OID: 1043}},
	} {
		e, err := encode.New(c.Type)
		if err != nil {
			t.Fatal(err)
		}
		columns = append(columns, encode.Source{Encoder: e, From: i})
		table.Columns = append(table.Columns, Column{Name: c.name, Attnum: int16(i + 1), Type: c.OID, NotNull: true, Form: int(c.Form), Scale: c.Scale, Physical: e.Column()})
	}
	return table, columns
}

// appendOrder appends the values of an order as a tuple of pgoutput.
func appendOrder(to []byte, key int64, rnd *rand.Rand) []byte {
	value := func(v ...byte) {
		to = append(to, 'b')
		to = binary.BigEndian.AppendUint32(to, uint32(len(v)))
		to = append(to, v...)
	}
	be32 := func(n uint32) []byte { return binary.BigEndian.AppendUint32(nil, n) }
	to = append(to, 0, 9)
	value(binary.BigEndian.AppendUint64(nil, uint64(key))...)
	value(be32(rnd.Uint32N(150000))...)
	value("OFP"[rnd.IntN(3)])
	var price []byte
	for _, n := range []uint16{3, 1, 0, 2, uint16(1 + rnd.IntN(40)), uint16(rnd.IntN(10000)), uint16(1+rnd.IntN(99)) * 100} {
		price = binary.BigEndian.AppendUint16(price, n)
	}
	value(price...)
	value(be32(uint32(int32(-2922 + rnd.IntN(2400))))...)
	value([]byte([]string{"1-URGENT       ", "2-HIGH         ", "5-LOW          "}[rnd.IntN(3)])...)
	value(fmt.Appendf(nil, "Clerk#%09d", rnd.IntN(1000))...)
	value(0, 0, 0, 0)
	value([]byte("nstructions sleep furiously among the deposits. carefully ironic pinto beans")[:19+rnd.IntN(58)]...)
	return to
}

// transactionSize is the number of changes of a transaction of the recorded stream.
const transactionSize = 10

// recorded is a stream of messages.
type recorded struct {
	messages [][]byte
	changes  int
	lsn      uint64
}

func (r *recorded) add(message ...byte) { r.messages = append(r.messages, message) }

func (r *recorded) change(message []byte) {
	if r.changes%transactionSize == 0 {
		r.lsn += 100
		r.add(append(binary.BigEndian.AppendUint64([]byte{'B'}, r.lsn), make([]byte, 12)...)...)
	}
	r.add(message...)
	if r.changes++; r.changes%transactionSize == 0 {
		m := binary.BigEndian.AppendUint64([]byte{'C', 0}, r.lsn)
		m = binary.BigEndian.AppendUint64(m, r.lsn+50)
		r.add(append(m, make([]byte, 8)...)...)
	}
}

// recordStream records n changes of orders: inserts of keys from n on, or updates of keys below.
func recordStream(n int, update bool, rnd *rand.Rand) *recorded {
	r := &recorded{}
	for i := range n {
		key, kind := int64(n+i), byte('I')
		if update {
			key, kind = rnd.Int64N(int64(n)), 'U'
		}
		r.change(appendOrder([]byte{kind, 0, 0, 0, 1, 'N'}, key, rnd))
	}
	return r
}

// play decodes, encodes and applies a recorded stream.
func (r *recorded) play(t testing.TB, s *Server, columns encode.Columns) {
	t.Helper()
	var d pgout.Decoder
	var c Change
	c.Table = 1
	for _, message := range r.messages {
		m, err := d.Decode(message)
		if err != nil {
			t.Fatal(err)
		}
		switch m := m.(type) {
		case *pgout.Begin:
			err = s.Transact(m.Final)
		case *pgout.Commit:
			err = s.Commit(m.End, pgout.Time(m.Time))
		case *pgout.Insert:
			c.Op = Insert
			if err = columns.Row(&c.New, m.New); err == nil {
				err = s.Change(&c)
			}
		case *pgout.Update:
			c.Op = Update
			if err = columns.Row(&c.New, m.New); err == nil {
				err = s.Change(&c)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// loadOrders loads orders with the keys from 0 to n.
func loadOrders(t testing.TB, s *Server, table *Table, columns encode.Columns, n int) {
	t.Helper()
	l, err := s.Begin(table)
	if err != nil {
		t.Fatal(err)
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	var d pgout.Decoder
	b := encode.NewBatch(columns)
	var buffer []byte
	for i := range n {
		buffer = appendOrder(append(buffer[:0], 'I', 0, 0, 0, 1, 'N'), int64(i), rnd)
		m, err := d.Decode(buffer)
		if err == nil {
			err = b.Add(m.(*pgout.Insert).New)
		}
		if err == nil && (b.Rows == 4096 || i == n-1) {
			err = l.Batch(b.Rows, b.Vectors)
			b.Reset()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Join(0); err != nil {
		t.Fatal(err)
	}
}

const benchExtent = 4 << 20

// coreTime is the time that the process has spent on cores: on a machine that others use too, it
// says more than the time that has passed.
func coreTime(t testing.TB) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func BenchmarkApply(b *testing.B) {
	const n = 300_000
	for _, update := range []bool{false, true} {
		b.Run(map[bool]string{false: "insert", true: "update"}[update], func(b *testing.B) {
			table, columns := orders(b)
			stream := recordStream(n, update, rand.New(rand.NewPCG(1, 1)))
			var spent time.Duration
			for b.Loop() {
				b.StopTimer()
				s := New(&heap{size: benchExtent}, Options{})
				loadOrders(b, s, table, columns, n)
				runtime.GC()
				before := coreTime(b)
				b.StartTimer()
				stream.play(b, s, columns)
				spent += coreTime(b) - before
			}
			b.ReportMetric(float64(b.N)*n/spent.Seconds(), "changes/core-s")
		})
	}
}

func BenchmarkLoad(b *testing.B) {
	const n = 300_000
	table, columns := orders(b)
	rnd := rand.New(rand.NewPCG(1, 2))
	var d pgout.Decoder
	batch := encode.NewBatch(columns)
	for i := range n {
		m, err := d.Decode(appendOrder([]byte{'I', 0, 0, 0, 1, 'N'}, int64(i), rnd))
		if err == nil {
			err = batch.Add(m.(*pgout.Insert).New)
		}
		if err != nil {
			b.Fatal(err)
		}
	}
	before := coreTime(b)
	for b.Loop() {
		s := New(&heap{size: benchExtent}, Options{})
		l, err := s.Begin(table)
		if err == nil {
			err = l.Batch(batch.Rows, batch.Vectors)
		}
		if err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)*n/(coreTime(b)-before).Seconds(), "rows/core-s")
}

// BenchmarkPin pins a table of 10 million rows and 8 columns: without deleted rows, with 10 in each
// segment, and with 1000, which are cut out and copied around.
func BenchmarkPin(b *testing.B) {
	for _, deleted := range []int{0, 10, 1000} {
		b.Run(fmt.Sprint(deleted), func(b *testing.B) { benchmarkPin(b, deleted) })
	}
}

func benchmarkPin(b *testing.B, deleted int) {
	const n = 10_000_000
	s := New(&heap{size: benchExtent}, Options{})
	table := &Table{Schema: "public", Name: "wide", OID: 1, Key: []int{0}}
	for i := range 8 {
		table.Columns = append(table.Columns, Column{Name: fmt.Sprint("c", i), NotNull: i == 0, Physical: joincore.Column{Kind: joincore.Fixed, Width: 4, Align: 4}})
	}
	l, err := s.Begin(table)
	if err != nil {
		b.Fatal(err)
	}
	const rows = 100_000
	for from := 0; from < n; from += rows {
		values := make([]byte, 0, 4*rows)
		for i := range rows {
			values = binary.LittleEndian.AppendUint32(values, uint32(from+i))
		}
		columns := make([]Values, 8)
		for i := range columns {
			columns[i].Values = values
		}
		if err := l.Batch(rows, columns); err != nil {
			b.Fatal(err)
		}
	}
	if err := l.Join(0); err != nil {
		b.Fatal(err)
	}
	gone := 0
	for row := 0; deleted > 0 && row < n; row += segmentRows / deleted {
		c := Change{Table: 1, Op: Delete, Key: encode.Row{Data: binary.LittleEndian.AppendUint32(nil, uint32(row)), Fields: []encode.Field{{State: encode.Present, To: 4}}}}
		if err := s.Change(&c); err != nil {
			b.Fatal(err)
		}
		gone++
	}
	if err := s.Commit(1, time.Time{}); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	before := coreTime(b)
	for b.Loop() {
		p := s.Pin()
		relation, err := p.Relation(1, []int{0, 1, 2, 3, 4, 5, 6, 7})
		if err != nil || relation.Rows() != int64(n-gone) {
			b.Fatal(relation.Rows(), err)
		}
		p.Close()
	}
	b.ReportMetric(float64((coreTime(b)-before).Microseconds())/float64(b.N), "core-µs/pin")
}

// What the mirror holds beside the bytes of its columns is at most 16 bytes a row, and a few
// extents that the tail and the next segments use.
func TestMemoryBesideTheColumns(t *testing.T) {
	const n = 400_000
	table, columns := orders(t)
	s := New(&heap{size: benchExtent}, Options{})
	loadOrders(t, s, table, columns, n)
	recordStream(n, false, rand.New(rand.NewPCG(1, 1))).play(t, s, columns)
	p := s.Pin()
	defer p.Close()
	relation, err := p.Relation(1, []int{0, 1, 2, 3, 4, 5, 6, 7, 8})
	if err != nil {
		t.Fatal(err)
	}
	var exact int64
	for _, seg := range relation.Segments {
		for _, v := range seg.Columns {
			exact += int64(len(v.Values) + len(v.Heap))
		}
	}
	extents, besides := s.Bytes()
	rows := float64(relation.Rows())
	t.Logf("%.0f rows, columns of %.1f bytes a row, spans %.1f more, extents %.1f, beside them %.1f", rows, float64(exact)/rows, float64(s.arena.spans-exact)/rows, float64(extents-exact)/rows, float64(besides)/rows)
	if beside := float64(extents-3*benchExtent+besides-exact) / rows; beside > 16 {
		t.Errorf("%.1f bytes a row beside the columns", beside)
	}
}
