package control

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"

	"gpujoin/joincore"
)

// placeIn returns what finds bytes in extents.
func placeIn(extents map[uint64][]byte) Place {
	return func(b []byte) (uint64, []byte) {
		for id, data := range extents {
			if _, ok := (&placed{data: data}).offset(b); ok {
				return id, data
			}
		}
		return 0, nil
	}
}

// useOf returns what finds extents.
func useOf(extents map[uint64][]byte) func(uint64) ([]byte, error) {
	return func(id uint64) ([]byte, error) {
		if data := extents[id]; data != nil {
			return data, nil
		}
		return nil, ErrMalformed
	}
}

// three columns, of values of 8 bytes, of texts and of one byte.
var three = []joincore.Column{{Kind: joincore.Fixed, Width: 8, Align: 8}, {Kind: joincore.Varlena, Align: 4}, {Kind: joincore.Fixed, Width: 1, Align: 1}}

// TestRows: vectors are found again where they lie, with their contents.
func TestRows(t *testing.T) {
	a, b := make([]byte, 4096), make([]byte, 512)
	extents := map[uint64][]byte{5: a, 1 << 60: b}
	values := joincore.Vector{Values: a[64:192:192], Validity: a[192:194:194], Content: 1 << 63, From: 4096}
	want := &joincore.Relation{Columns: three, Segments: []joincore.Segment{
		{Rows: 16, Columns: []joincore.Vector{values, {Values: a[1024:1092:1092], Heap: a[4000:4096:4096]}, {Values: b[:16:16]}}},
		{Rows: 1, Columns: []joincore.Vector{{Values: b[496:504:504], Content: math.MaxUint64}, {Values: b[16:24:24], Content: 1}, {Values: a[:1:1], Content: 2, From: 7}}},
		{Rows: 3, Columns: make([]joincore.Vector, 3)},
	}}
	in, err := EncodeRows(want, placeIn(extents))
	if err != nil {
		t.Fatal(err)
	}
	got, err := DecodeRows(in, three, useOf(extents))
	if err != nil || !reflect.DeepEqual(got, want) || &got.Segments[0].Columns[1].Heap[0] != &a[4000] {
		t.Errorf("%+v, %v", got, err)
	}
	for n := range in {
		if _, err := DecodeRows(in[:n], three, useOf(extents)); !errors.Is(err, ErrMalformed) {
			t.Errorf("%d of %d bytes: %v", n, len(in), err)
		}
	}
	if _, err := DecodeRows(append(in, 0), three, useOf(extents)); !errors.Is(err, ErrMalformed) {
		t.Error("a byte more: ", err)
	}
	if _, err := DecodeRows(in, three[:2], useOf(extents)); !errors.Is(err, ErrMalformed) {
		t.Error("a column less: ", err)
	}
	if _, err := DecodeRows(in, three, useOf(map[uint64][]byte{5: a, 1 << 60: b[:500]})); !errors.Is(err, ErrMalformed) {
		t.Error("a smaller extent: ", err)
	}
	if _, err := DecodeRows(in, three, useOf(map[uint64][]byte{5: a})); !errors.Is(err, ErrMalformed) {
		t.Error("an extent less: ", err)
	}
	want.Segments[2].Columns[0].Values = make([]byte, 24)
	if _, err := EncodeRows(want, placeIn(extents)); !errors.Is(err, joincore.ErrUnsupported) {
		t.Error(err)
	}
	counted := &joincore.Relation{Segments: []joincore.Segment{{Rows: 9}, {Rows: math.MaxInt32}}}
	if in, err = EncodeRows(counted, nil); err != nil {
		t.Fatal(err)
	}
	if got, err := DecodeRows(in, nil, nil); err != nil || got.Rows() != counted.Rows() || len(got.Segments) != 2 {
		t.Errorf("%+v, %v", got, err)
	}
}

// TestMalformedRows: bytes that EncodeRows cannot have made are refused.
func TestMalformedRows(t *testing.T) {
	extents := map[uint64][]byte{5: make([]byte, 4096)}
	one := three[:1]
	number := func(n uint64) []byte { return binary.AppendUvarint(nil, n) }
	begin := []byte{1, 1, 5, 1} // a column, an extent, and one segment
	for name, in := range map[string][]byte{
		"nothing":            {},
		"no rows":            append(begin, 0, 0),
		"rows":               append(append(begin, number(1<<40)...), 0),
		"no such extent":     append(begin, 1, 1, 1, 0, 8),
		"before the extent":  append(begin, 1, 1, 0, 1, 8),
		"behind it":          append(append(begin, 1, 1, 0), append(number(2*4089), 8)...),
		"overflow":           append(append(begin, 1, 1, 0, 16), number(1<<64-4)...),
		"no bytes":           append(begin, 1, 1, 0, 0, 0),
		"unknown":            append(begin, 1, 0x20),
		"a row of nothing":   append(begin, 1, hasFrom, 1),
		"a row too far":      append(append(begin, 1, hasContent|hasFrom, 2), number(1<<40)...),
		"content 0":          append(begin, 1, hasContent, 0),
		"a number too large": append(begin, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f),
		"many extents":       append([]byte{1}, number(1<<40)...),
		"many segments":      append([]byte{1, 0}, number(1<<40)...),
	} {
		if _, err := DecodeRows(in, one, useOf(extents)); !errors.Is(err, ErrMalformed) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := DecodeRows(append(begin, 1, 1, 0, 16, 8), one, useOf(extents)); err != nil {
		t.Error(err)
	}
}

// FuzzRows decodes what a worker may be sent: no vector lies outside of an extent.
func FuzzRows(f *testing.F) {
	extents := map[uint64][]byte{5: make([]byte, 4096), 6: make([]byte, 64)}
	for _, r := range []*joincore.Relation{manyRows(extents[5], 5, 2), manyRows(extents[6], 1, 1)} {
		in, err := EncodeRows(r, placeIn(extents))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(in)
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		for columns := range 4 {
			r, err := DecodeRows(in, three[:columns], useOf(extents))
			if err != nil {
				continue
			}
			again, err := EncodeRows(r, placeIn(extents))
			if err != nil {
				t.Fatal(err)
			}
			// Extents that no vector lies in are gone, and with them perhaps room for the rows.
			if got, err := DecodeRows(again, three[:columns], useOf(extents)); err == nil && !reflect.DeepEqual(got, r) {
				t.Errorf("%+v, want %+v", got, r)
			}
		}
	})
}

// manyRows returns a relation of columns of 8 bytes whose vectors lie in an extent, each behind
// the one before, as the store of kept columns places those of one capture.
func manyRows(extent []byte, segments, columns int) *joincore.Relation {
	r := &joincore.Relation{}
	for range columns {
		r.Columns = append(r.Columns, joincore.Column{Kind: joincore.Fixed, Width: 8, Align: 8})
	}
	size := len(extent) / (segments * columns) &^ 63
	for range segments {
		s := joincore.Segment{Rows: size / 8}
		for range columns {
			s.Columns = append(s.Columns, joincore.Vector{Values: extent[:size:size], Content: joincore.NewContent()})
			extent = extent[size:]
		}
		r.Segments = append(r.Segments, s)
	}
	return r
}

// scattered gives the vectors of a relation places in no order, as columns have that were captured
// by different queries and copied since.
func scattered(r *joincore.Relation) {
	rnd := rand.New(rand.NewPCG(1, 1))
	for j := range r.Columns {
		rnd.Shuffle(len(r.Segments), func(a, b int) {
			x, y := &r.Segments[a].Columns[j], &r.Segments[b].Columns[j]
			*x, *y = *y, *x
		})
	}
}

// BenchmarkRows is what the rows of an input cost with each job: those of a table of 1.2 M blocks
// have 2,300 segments.
func BenchmarkRows(b *testing.B) {
	const segments, columns = 2300, 7
	extents := map[uint64][]byte{}
	for id := range uint64(4) {
		extents[1000+id] = make([]byte, 64<<20)
	}
	for _, places := range []string{"in order", "scattered"} {
		r := manyRows(extents[1000], 575, columns)
		for id := range uint64(3) {
			r.Segments = append(r.Segments, manyRows(extents[1001+id], 575, columns).Segments...)
		}
		if places == "scattered" {
			scattered(r)
		}
		in, err := EncodeRows(r, placeIn(extents))
		if err != nil {
			b.Fatal(err)
		}
		b.Run(fmt.Sprintf("encode/%d/%s", segments, places), func(b *testing.B) {
			for b.Loop() {
				if _, err := EncodeRows(r, placeIn(extents)); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(len(in)), "bytes")
		})
		b.Run(fmt.Sprintf("decode/%d/%s", segments, places), func(b *testing.B) {
			for b.Loop() {
				if _, err := DecodeRows(in, r.Columns, useOf(extents)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
