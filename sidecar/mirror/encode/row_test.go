package encode

import (
	"bytes"
	"errors"
	"testing"

	"gpujoin/joincore"
	"gpujoin/sidecar/mirror/pgout"
)

// twoColumns are an int4, and a text that a row has as its first value.
func twoColumns(t *testing.T) Columns {
	t.Helper()
	number, err := New(Type{OID: 23})
	if err != nil {
		t.Fatal(err)
	}
	text, err := New(Type{OID: 25})
	if err != nil {
		t.Fatal(err)
	}
	return Columns{{number, 1}, {text, 0}}
}

func tuple(text, number *pgout.Value) pgout.Tuple { return pgout.Tuple{*text, *number} }

var (
	someText   = &pgout.Value{Kind: pgout.Binary, Data: []byte("abcdefg")}
	someNumber = &pgout.Value{Kind: pgout.Binary, Data: []byte{0, 0, 0, 7}}
	null       = &pgout.Value{Kind: pgout.Null}
	unchanged  = &pgout.Value{Kind: pgout.Unchanged}
	asText     = &pgout.Value{Kind: pgout.Text, Data: []byte("7")}
)

func TestRow(t *testing.T) {
	columns := twoColumns(t)
	var row Row
	for range 2 {
		if err := columns.Row(&row, tuple(someText, someNumber)); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(row.Bytes(0), []byte{7, 0, 0, 0}) || !bytes.Equal(row.Bytes(1), []byte("\x11abcdefg")) {
			t.Errorf("%+v", row)
		}
	}
	if err := columns.Row(&row, tuple(unchanged, null)); err != nil || row.Fields[0].State != Null || row.Fields[1].State != Unchanged || len(row.Data) > 0 {
		t.Errorf("%+v, %v", row, err)
	}
	for _, bad := range []pgout.Tuple{tuple(someText, asText), {*someText}, tuple(someText, someText)} {
		if err := columns.Row(&row, bad); !errors.Is(err, ErrMalformed) {
			t.Errorf("%v: error %v", bad, err)
		}
	}
}

func TestRowAllocatesNothing(t *testing.T) {
	columns, row := twoColumns(t), Row{}
	values := tuple(someText, someNumber)
	if n := testing.AllocsPerRun(100, func() {
		if err := columns.Row(&row, values); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestBatch(t *testing.T) {
	b := NewBatch(twoColumns(t))
	for range 2 {
		// NULLs of the number in rows 9 and 18, of the text in rows 0, 2, ...
		for i := range 20 {
			text, number := null, someNumber
			if i%2 == 1 {
				text = someText
			}
			if i%9 == 0 && i > 0 {
				number = null
			}
			if err := b.Add(tuple(text, number)); err != nil {
				t.Fatal(err)
			}
		}
		relation := joincore.Relation{Columns: []joincore.Column{fixed4, varlena(4)}, Segments: []joincore.Segment{{Rows: b.Rows, Columns: b.Vectors}}}
		if err := relation.Check(); err != nil || b.Rows != 20 {
			t.Fatalf("%v, %d rows", err, b.Rows)
		}
		for i := range b.Rows {
			if number := &b.Vectors[0]; number.Null(i) != (i%9 == 0 && i > 0) || (number.Values[4*i] == 7) == number.Null(i) {
				t.Errorf("row %d: number %v", i, number.Values[4*i:4*i+4])
			}
			text := &b.Vectors[1]
			if payload, err := joincore.TextPayload(text.Variable(i)); text.Null(i) != (i%2 == 0) || text.Null(i) != (err != nil) || err == nil && string(payload) != "abcdefg" {
				t.Errorf("row %d: text %q, %v", i, payload, err)
			}
		}
		b.Reset()
	}
	if err := b.Add(tuple(unchanged, someNumber)); !errors.Is(err, ErrMalformed) {
		t.Errorf("error %v", err)
	}
}
