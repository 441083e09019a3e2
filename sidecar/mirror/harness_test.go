package mirror

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sort"
	"strings"
	"sync"
	"testing"
	"time"

	"gpujoin/joincore"
	"gpujoin/sidecar/kept"
	"gpujoin/sidecar/mirror/encode"
	"gpujoin/sidecar/mirror/pgout"
)

// heap is memory for tests: it counts extents and can be told to have no more. It spoils what
// is given back, so that whoever still reads it finds nonsense.
type heap struct {
	mu         sync.Mutex
	size       int64
	live, most int // extents; most 0: no limit
}

func (h *heap) ExtentSize() int64 { return h.size }

func (h *heap) Extent() (kept.Extent, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.most > 0 && h.live >= h.most {
		return kept.Extent{}, errors.New("no more extents")
	}
	h.live++
	data := make([]byte, h.size)
	for i := range data {
		data[i] = 0x5a
	}
	released := false
	return kept.Extent{Data: data, Release: func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		if released {
			panic("an extent was released twice")
		}
		released = true
		h.live--
		for i := range data {
			data[i] = 0xa5
		}
	}}, nil
}

// testTable is a table of an id, a text and a number; the last two may be NULL.
func testTable(oid uint32) *Table {
	return &Table{
		Schema: "public", Name: fmt.Sprint("t", oid), OID: oid, Key: []int{0},
		Columns: []Column{
			{Name: "id", Attnum: 1, Type: 20, NotNull: true, Physical: joincore.Column{Kind: joincore.Fixed, Width: 8, Align: 8}},
			{Name: "text", Attnum: 2, Type: 25, Physical: joincore.Column{Kind: joincore.Varlena, Align: 4}},
			{Name: "number", Attnum: 3, Type: 23, Physical: joincore.Column{Kind: joincore.Fixed, Width: 4, Align: 4}},
		},
	}
}

var testColumns = func() (out encode.Columns) {
	for i, oid := range []uint32{20, 25, 23} {
		e, err := encode.New(encode.Type{OID: oid})
		if err != nil {
			panic(err)
		}
		out = append(out, encode.Source{Encoder: e, From: i})
	}
	return out
}()

// record is a row of a test table. Everything but the id is a pointer: nil is NULL.
type record struct {
	id     int64
	text   *string
	number *int32
}

func (r record) String() string {
	text, number := "NULL", "NULL"
	if r.text != nil {
		text = *r.text
	}
	if r.number != nil {
		number = fmt.Sprint(*r.number)
	}
	return fmt.Sprintf("%d|%s|%s", r.id, text, number)
}

// tuple is the row as it is sent. unchanged: its text is not.
func (r record) tuple(unchanged bool) pgout.Tuple {
	t := pgout.Tuple{{Kind: pgout.Binary, Data: binary.BigEndian.AppendUint64(nil, uint64(r.id))}, {Kind: pgout.Null}, {Kind: pgout.Null}}
	if r.text != nil {
		t[1] = pgout.Value{Kind: pgout.Binary, Data: []byte(*r.text)}
	}
	if r.number != nil {
		t[2] = pgout.Value{Kind: pgout.Binary, Data: binary.BigEndian.AppendUint32(nil, uint32(*r.number))}
	}
	if unchanged {
		t[1] = pgout.Value{Kind: pgout.Unchanged}
	}
	return t
}

// row is the encoded row.
func (r record) row(unchanged bool) (out encode.Row) {
	if err := testColumns.Row(&out, r.tuple(unchanged)); err != nil {
		panic(err)
	}
	return out
}

// keyOf is an encoded key.
func keyOf(id int64) (out encode.Row) {
	if err := testColumns[:1].Row(&out, record{id: id}.tuple(false)); err != nil {
		panic(err)
	}
	return out
}

// rec makes a record whose values follow from two numbers; some are NULL.
func rec(id, version int64) record {
	r := record{id: id}
	if n := id + version; n%4 != 0 {
		text := fmt.Sprintf("%d.%d", id, version) + strings.Repeat("x", int(n*7%40))
		r.text = &text
	}
	if n := int32(id*1000 + version); n%3 != 0 {
		r.number = &n
	}
	return r
}

// readRows returns what a relation has of test tables' columns: a text for each row, in order.
func readRows(relation joincore.Relation, columns []int) (out []string, err error) {
	if err := relation.Check(); err != nil {
		return nil, err
	}
	for _, seg := range relation.Segments {
		for row := range seg.Rows {
			var texts []string
			for i, c := range columns {
				v := &seg.Columns[i]
				switch {
				case v.Null(row):
					texts = append(texts, "NULL")
				case c == 0:
					texts = append(texts, fmt.Sprint(int64(binary.LittleEndian.Uint64(v.Values[8*row:]))))
				case c == 1:
					payload, err := joincore.TextPayload(v.Variable(row))
					if err != nil {
						return nil, fmt.Errorf("row %d: %w", row, err)
					}
					texts = append(texts, string(payload))
				default:
					texts = append(texts, fmt.Sprint(int32(binary.LittleEndian.Uint32(v.Values[4*row:]))))
				}
			}
			out = append(out, strings.Join(texts, "|"))
		}
	}
	sort.Strings(out)
	return out, nil
}

var allColumns = []int{0, 1, 2}

// wantRows checks what a pin sees of a table.
func wantRows(t testing.TB, p *Pin, table uint32, want ...record) {
	t.Helper()
	relation, err := p.Relation(table, allColumns)
	if err != nil {
		t.Fatal(err)
	}
	got, err := readRows(relation, allColumns)
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	for _, r := range want {
		texts = append(texts, r.String())
	}
	sort.Strings(texts)
	if strings.Join(got, "\n") != strings.Join(texts, "\n") {
		t.Errorf("%d rows:\n%s\nwant %d:\n%s", len(got), brief(got), len(texts), brief(texts))
	}
}

func brief(rows []string) string {
	if len(rows) > 20 {
		rows = rows[:20]
	}
	return strings.Join(rows, "\n")
}

// batchOf makes vectors of records.
func batchOf(records ...record) (int, []Values) {
	b := encode.NewBatch(testColumns)
	for _, r := range records {
		if err := b.Add(r.tuple(false)); err != nil {
			panic(err)
		}
	}
	return b.Rows, b.Vectors
}

// stream is the main stream of a test: each transaction takes 10 of the WAL.
type stream struct {
	t   testing.TB
	s   *Server
	lsn LSN
}

// changes applies changes in one transaction, and commits it.
func (m *stream) changes(all ...Change) {
	m.t.Helper()
	m.begin(all...)
	m.commit()
}

func (m *stream) begin(all ...Change) {
	m.t.Helper()
	m.lsn += 10
	if err := m.s.Transact(m.lsn); err != nil {
		m.t.Fatal(err)
	}
	for i := range all {
		if err := m.s.Change(&all[i]); err != nil {
			m.t.Fatal(err)
		}
	}
}

func (m *stream) commit() {
	m.t.Helper()
	if err := m.s.Commit(m.lsn+5, time.Unix(int64(m.lsn), 0)); err != nil {
		m.t.Fatal(err)
	}
}

func insertOf(table uint32, r record) Change {
	return Change{Table: table, Op: Insert, New: r.row(false)}
}

func updateOf(table uint32, r record) Change {
	return Change{Table: table, Op: Update, New: r.row(false)}
}

func deleteOf(table uint32, id int64) Change { return Change{Table: table, Op: Delete, Key: keyOf(id)} }

// ready returns a server with a table of some records, which has joined.
func ready(t testing.TB, memory *heap, records ...record) *stream {
	t.Helper()
	s := New(memory, Options{})
	join(t, s, 1, 0, records...)
	return &stream{t: t, s: s}
}

func join(t testing.TB, s *Server, oid uint32, at LSN, records ...record) {
	t.Helper()
	l, err := s.Begin(testTable(oid))
	if err != nil {
		t.Fatal(err)
	}
	if len(records) > 0 {
		n, columns := batchOf(records...)
		if err := l.Batch(n, columns); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Join(at); err != nil {
		t.Fatal(err)
	}
}

// recordsOf makes the records of some ids.
func recordsOf(from, to, version int64) (out []record) {
	for id := from; id < to; id++ {
		out = append(out, rec(id, version))
	}
	return out
}
