package foreign

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"gpujoin/joincore"
	"gpujoin/sidecar/kept"
	"gpujoin/sidecar/mirror"
	"gpujoin/sidecar/mirror/encode"
	"gpujoin/sidecar/mirror/pgout"
	"gpujoin/sidecar/source"
)

const testExtent = 1 << 16

// plainMemory is memory of Go.
type plainMemory struct{}

func (plainMemory) ExtentSize() int64 { return testExtent }

func (plainMemory) Extent() (kept.Extent, error) {
	return kept.Extent{Data: make([]byte, testExtent), Release: func() {}}, nil
}

// The table of these tests: id int8, price numeric(10,2), code char(6), note text.
var testTypes = []encode.Type{{OID: 20}, {OID: 1700, Form: encode.Decimal, Scale: 2}, {OID: 1042}, {OID: 25}}

var testNames = []string{"id", "price", "co\"de", "note"}

func encoderOf(t testing.TB, of encode.Type) *encode.Encoder {
	t.Helper()
	e, err := encode.New(of)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// tupleOf is a row as its server sends it.
func tupleOf(id int64) pgout.Tuple {
	t := pgout.Tuple{
		{Kind: pgout.Binary, Data: binary.BigEndian.AppendUint64(nil, uint64(id))},
		{Kind: pgout.Binary, Data: []byte{0, 1, 0, 0, 0, 0, 0, 2, byte(id % 9), byte(id % 50)}},
		{Kind: pgout.Binary, Data: fmt.Appendf(nil, "%-6d", id%1000)},
		{Kind: pgout.Binary, Data: []byte(strings.Repeat("n", int(id%70)))},
	}
	if id%4 == 1 {
		t[id%3+1] = pgout.Value{Kind: pgout.Null}
	}
	return t
}

// fakeSnapshot is a server whose table has rows 0 to rows-1.
type fakeSnapshot struct {
	rows  int64
	reads []source.Read
	long  int // bytes of the note of row 0, if not 0
}

func (f *fakeSnapshot) Close() {}

func (f *fakeSnapshot) Copy(ctx context.Context, what source.Read, deliver func(*source.Batch) error) error {
	f.reads = append(f.reads, what)
	if what.Columns[0].SQL != "" {
		return deliver(&source.Batch{Rows: 1, Columns: 1, Data: binary.BigEndian.AppendUint64(nil, uint64(f.rows)), Offsets: []uint32{0}, Lengths: []int32{8}})
	}
	rows := f.rows
	if what.Rest != "" {
		_, _ = fmt.Sscanf(what.Rest, " ORDER BY pg_catalog.random() LIMIT %d", &rows)
	}
	for from := int64(0); from < rows; from += 700 {
		b := &source.Batch{Columns: len(what.Columns)}
		for id := from; id < min(from+700, rows); id++ {
			row := tupleOf(id)
			if id == 0 && f.long > 0 {
				row[3] = pgout.Value{Kind: pgout.Binary, Data: make([]byte, f.long)}
			}
			for _, c := range what.Columns {
				v := row[index(c.Column)]
				b.Offsets = append(b.Offsets, uint32(len(b.Data)))
				if v.Kind == pgout.Null {
					b.Lengths = append(b.Lengths, -1)
					continue
				}
				b.Lengths = append(b.Lengths, int32(len(v.Data)))
				b.Data = append(b.Data, v.Data...)
			}
			b.Rows++
		}
		if err := deliver(b); err != nil {
			return err
		}
	}
	return ctx.Err()
}

func index(name string) int {
	for i, n := range testNames {
		if n == name {
			return i
		}
	}
	panic(name)
}

// pinOf returns a pin whose table m is mirrored and whose table d is read directly; both have the same
// rows.
func pinOf(t testing.TB, rows int64) (*Pin, *fakeSnapshot) {
	t.Helper()
	s := mirror.New(plainMemory{}, mirror.Options{})
	table := &mirror.Table{Schema: "s", Name: "m", OID: 7, Key: []int{0}}
	var columns encode.Columns
	for i, of := range testTypes {
		e := encoderOf(t, of)
		columns = append(columns, encode.Source{Encoder: e, From: i})
		table.Columns = append(table.Columns, mirror.Column{Name: testNames[i], Type: of.OID, NotNull: i == 0, Form: int(of.Form), Scale: of.Scale, Physical: e.Column()})
	}
	l, err := s.Begin(table)
	if err != nil {
		t.Fatal(err)
	}
	b := encode.NewBatch(columns)
	for id := range rows {
		if err := b.Add(tupleOf(id)); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Batch(b.Rows, b.Vectors); err != nil {
		t.Fatal(err)
	}
	if err := l.Join(0); err != nil {
		t.Fatal(err)
	}
	f := &fakeSnapshot{rows: rows}
	p := &Pin{mirror: s.Pin(), direct: f, end: func() {}, refs: 1, tables: map[source.Name]*pinned{
		{Schema: "s", Table: "m"}: {oid: 7, columns: table.Columns},
		{Schema: "s", Table: "d"}: {direct: true},
	}}
	t.Cleanup(p.Release)
	return p, f
}

// columnOf is a column of the table in a form.
func columnOf(t testing.TB, name string, form encode.Form, scale int) Column {
	t.Helper()
	of := testTypes[index(name)]
	typmod := int32(-1)
	if name == "price" {
		typmod = 10<<16 + 2 + 4
	}
	of.Form, of.Scale = form, scale
	return Column{Name: name, Type: of.OID, Typmod: typmod, Form: int(form), Scale: scale, Physical: encoderOf(t, of).Column()}
}

// reader is a job's part of a read; extents are what it has given.
func reader(table string, extents *int, columns ...Column) Read {
	return Read{Schema: "s", Table: table, Columns: columns, ExtentSize: testExtent, Extent: func() ([]byte, error) {
		*extents++
		return make([]byte, testExtent), nil
	}}
}

// rowsOf returns what a relation has, by the id in its first column.
func rowsOf(t testing.TB, r *joincore.Relation) map[int64]string {
	t.Helper()
	if err := r.Check(); err != nil {
		t.Fatal(err)
	}
	out := map[int64]string{}
	for i := range r.Segments {
		seg := &r.Segments[i]
		for row := range seg.Rows {
			text := ""
			for j, c := range r.Columns {
				v := &seg.Columns[j]
				switch {
				case v.Null(row):
					text += "NULL|"
				case c.Kind == joincore.Varlena:
					text += fmt.Sprintf("%x|", v.Variable(row))
				default:
					text += fmt.Sprintf("%x|", v.Values[c.Width*row:c.Width*(row+1)])
				}
			}
			out[int64(binary.LittleEndian.Uint64(seg.Columns[0].Values[8*row:]))] = text
		}
	}
	return out
}

// TestMirroredAndDirectRowsAreEqual: what is read of a mirror has the bytes that are read of its server,
// in each form.
func TestMirroredAndDirectRowsAreEqual(t *testing.T) {
	p, f := pinOf(t, 5000)
	columns := []Column{
		columnOf(t, "id", encode.Value, 0), columnOf(t, "price", encode.Decimal, 2), columnOf(t, "price", encode.NumericKey, 0),
		columnOf(t, "price", encode.Unscaled, 4), columnOf(t, "price", encode.Value, 0), columnOf(t, "co\"de", encode.Value, 0),
		columnOf(t, "co\"de", encode.BpcharKey, 0), columnOf(t, "note", encode.Value, 0), columnOf(t, "note", encode.Value, 7), // a scale without a meaning
	}
	extents := 0
	m, err := p.Read(t.Context(), reader("m", &extents, columns...))
	if err != nil {
		t.Fatal(err)
	}
	if extents != 0 || m.Total != 5000 || m.Bytes != 0 || p.Direct("s", "m") || !p.Direct("s", "d") {
		t.Errorf("%d extents, %d rows, %d bytes", extents, m.Total, m.Bytes)
	}
	d, err := p.Read(t.Context(), reader("d", &extents, columns...))
	if err != nil {
		t.Fatal(err)
	}
	if d.Total != 5000 || d.Bytes == 0 || d.Bytes > int64(extents)*testExtent || int64(extents)*testExtent > 2*d.Bytes+testExtent {
		t.Errorf("%d extents, %d rows, %d bytes", extents, d.Total, d.Bytes)
	}
	want, got := rowsOf(t, &d.Relation), rowsOf(t, &m.Relation)
	if len(want) != 5000 || len(got) != 5000 {
		t.Fatalf("%d and %d rows", len(want), len(got))
	}
	for id, row := range want {
		if got[id] != row {
			t.Fatalf("row %d\n%s, directly\n%s", id, got[id], row)
		}
	}
	sql := ""
	for _, c := range f.reads[0].Columns {
		sql += c.String() + " "
	}
	if want := `"id"::pg_catalog.int8 "price"::pg_catalog.numeric(10,2) "price"::pg_catalog.numeric(10,2) "price"::pg_catalog.numeric(10,2) ` +
		`"price"::pg_catalog.numeric(10,2) "co""de"::pg_catalog.bpchar "co""de"::pg_catalog.bpchar "note"::pg_catalog.text "note"::pg_catalog.text `; sql != want {
		t.Errorf("%s", sql)
	}
}

// TestTextColumns: a type without an encoder is read as text, and casts have what values depend on.
func TestTextColumns(t *testing.T) {
	p, f := pinOf(t, 10)
	text := Column{Name: "note", Type: 3802, Typmod: -1, Text: true, Physical: joincore.Column{Kind: joincore.Varlena, Align: 4}}
	char := columnOf(t, "co\"de", encode.Value, 0)
	char.Typmod = 10
	extents := 0
	rows, err := p.Read(t.Context(), reader("d", &extents, columnOf(t, "id", encode.Value, 0), text, char))
	if err != nil {
		t.Fatal(err)
	}
	if got := rowsOf(t, &rows.Relation)[3]; !strings.Contains(got, "|096e6e6e|") {
		t.Errorf("%s", got)
	}
	if a, b := f.reads[0].Columns[1].String(), f.reads[0].Columns[2].String(); a != `"note"::pg_catalog.text` || b != `"co""de"::pg_catalog.bpchar(6)` {
		t.Errorf("%s, %s", a, b)
	}
}

// TestSampleOfRows: a sample of a table that is read directly is chosen by its server, which counts all rows.
func TestSampleOfRows(t *testing.T) {
	p, f := pinOf(t, 5000)
	extents := 0
	for _, table := range []string{"m", "d"} {
		r := reader(table, &extents, columnOf(t, "id", encode.Value, 0), columnOf(t, "note", encode.Value, 0))
		r.Sample = &Sample{Rows: 100, Seed: rand.Uint64()}
		rows, err := p.Read(t.Context(), r)
		if err != nil || rows.Total != 5000 || len(rowsOf(t, &rows.Relation)) != 100 {
			t.Errorf("%s: %+v, %v", table, rows.Total, err)
		}
	}
	var share float64
	if n, err := fmt.Sscanf(f.reads[1].Where, "pg_catalog.random() < %g", &share); n != 1 || share < 0.021 || share > 0.05 {
		t.Errorf("%q, %v", f.reads[1].Where, err)
	}
	r := reader("d", &extents, columnOf(t, "id", encode.Value, 0))
	r.Sample = &Sample{Rows: 5000}
	if rows, err := p.Read(t.Context(), r); err != nil || rows.Relation.Rows() != 5000 || f.reads[3].Where != "" {
		t.Errorf("all rows: %q, %v", f.reads[3].Where, err)
	}
}

func TestUnreadableRows(t *testing.T) {
	p, f := pinOf(t, 10)
	extents, none := 0, errors.New("no more")
	wide := columnOf(t, "id", encode.Value, 0)
	wide.Physical.Width = 4
	other := columnOf(t, "id", encode.Value, 0)
	other.Type, other.Physical = 23, joincore.Column{Kind: joincore.Fixed, Width: 4, Align: 4}
	unknown := columnOf(t, "id", encode.Value, 0)
	unknown.Name = "nothing"
	poor := reader("d", &extents, columnOf(t, "id", encode.Value, 0))
	poor.Extent = func() ([]byte, error) { return nil, none }
	for name, c := range map[string]struct {
		read Read
		want error
	}{
		"no such table":     {reader("x", &extents, wide), mirror.ErrNotReady},
		"no such column":    {reader("m", &extents, unknown), mirror.ErrNotReady},
		"another type":      {reader("m", &extents, other), mirror.ErrNotReady},
		"another width":     {reader("m", &extents, wide), joincore.ErrInvalid},
		"directly so":       {reader("d", &extents, wide), joincore.ErrInvalid},
		"values do not fit": {reader("m", &extents, columnOf(t, "price", encode.Unscaled, 1)), joincore.ErrUnsupported},
		"directly too":      {reader("d", &extents, columnOf(t, "price", encode.Unscaled, 1)), joincore.ErrUnsupported},
		"no form":           {reader("m", &extents, Column{Name: "note", Type: 25, Form: int(encode.BpcharKey)}), joincore.ErrUnsupported},
		"no encoder":        {reader("d", &extents, Column{Name: "note", Type: 3802}), joincore.ErrUnsupported},
		"no memory":         {poor, none},
	} {
		if rows, err := p.Read(t.Context(), c.read); rows != nil || !errors.Is(err, c.want) {
			t.Errorf("%s: error %v, want %v", name, err, c.want)
		}
	}
	f.long = testExtent + 1
	_, err := p.Read(t.Context(), reader("d", &extents, columnOf(t, "note", encode.Value, 0)))
	if !errors.Is(err, joincore.ErrUnsupported) || !strings.Contains(err.Error(), "column note of s.d has 65544 bytes") {
		t.Errorf("a long value: %v", err)
	}
	f.long = testExtent - 20
	rows, err := p.Read(t.Context(), reader("d", &extents, columnOf(t, "id", encode.Value, 0), columnOf(t, "note", encode.Value, 0)))
	if err != nil || len(rowsOf(t, &rows.Relation)) != 10 || len(rows.Relation.Segments) < 2 {
		t.Errorf("%d segments, %v", len(rows.Relation.Segments), err)
	}
}
