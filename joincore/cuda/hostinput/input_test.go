package hostinput

import (
	"bytes"
	"encoding/binary"
	"errors"
	"testing"

	"gpujoin/joincore"
)

// texts makes a relation of one column of variable length, a segment for each
// list; "-" is NULL.
func texts(align int, segments ...[]string) *joincore.Relation {
	r := &joincore.Relation{Columns: []joincore.Column{{Kind: joincore.Varlena, Align: align}}}
	for _, values := range segments {
		v := joincore.Vector{Values: make([]byte, 4*(len(values)+1)), Validity: make([]byte, (len(values)+7)/8)}
		for i, s := range values {
			if s != "-" {
				v.Heap = append(v.Heap, s...)
				v.Validity[i/8] |= 1 << (i % 8)
			}
			binary.LittleEndian.PutUint32(v.Values[4*(i+1):], uint32(len(v.Heap)))
		}
		r.Segments = append(r.Segments, joincore.Segment{Rows: len(values), Columns: []joincore.Vector{v}})
	}
	return r
}

func batchVector(rows, heap int) *joincore.Vector {
	v := &joincore.Vector{Values: bytes.Repeat([]byte{0xa5}, 4*(rows+1)), Validity: bytes.Repeat([]byte{0xff}, (rows+7)/8), Heap: bytes.Repeat([]byte{0xa5}, heap)}
	binary.LittleEndian.PutUint32(v.Values, 0)
	return v
}

func TestTextsAreCopiedByRowNumber(t *testing.T) {
	h, err := New(0, texts(4, []string{"abcde", "-"}, nil, []string{"", "xyz"}))
	if err != nil {
		t.Fatal(err)
	}
	r := h.Reader(0)
	v := batchVector(8, 64)
	n, used := r.WriteVarlena(v, 2, 0, Numbers{List: []uint32{3, 0, None, 1, 2}}, 5)
	if n != 5 || used != 12 {
		t.Fatalf("%d rows, %d bytes", n, used)
	}
	if want := "xyz\x00abcde\x00\x00\x00"; string(v.Heap[:12]) != want {
		t.Errorf("heap %q", v.Heap[:12])
	}
	if v.Validity[0] != 0b1100_1111 {
		t.Errorf("validity %08b", v.Validity[0])
	}
	for i, want := range []uint32{0, 4, 12, 12, 12, 12} {
		if got := binary.LittleEndian.Uint32(v.Values[4*(2+i):]); got != want {
			t.Errorf("offset %d is %d in place of %d", i, got, want)
		}
	}
}

func TestTextsStopWhereTheHeapIsFull(t *testing.T) {
	h, _ := New(0, texts(8, []string{"abc", "defghijkl", "m"}))
	r := h.Reader(0)
	v := batchVector(4, 20)
	if n, used := r.WriteVarlena(v, 0, 0, Numbers{}, 3); n != 1 || used != 8 {
		t.Errorf("%d rows, %d bytes", n, used)
	}
	if n, used := r.WriteVarlena(v, 1, 8, Numbers{First: 2}, 1); n != 1 || used != 16 {
		t.Errorf("%d rows, %d bytes", n, used)
	}
}

func TestOffsetsMayBeAnything(t *testing.T) {
	rel := texts(1, []string{"abc", "def", "ghi"})
	v := &rel.Segments[0].Columns[0]
	for i, o := range []uint32{5, 0xffffffff, 2, 1} {
		binary.LittleEndian.PutUint32(v.Values[4*i:], o)
	}
	h, _ := New(0, rel)
	r := h.Reader(0)
	for row, want := range []string{"fghi", "", ""} {
		if got, ok := r.Varlena(int64(row)); !ok || string(got) != want {
			t.Errorf("row %d: %q", row, got)
		}
	}
}

func TestWideValuesAreCopiedByRowNumber(t *testing.T) {
	values := make([]byte, 3*24)
	for i := range values {
		values[i] = byte(i)
	}
	rel := &joincore.Relation{Columns: []joincore.Column{{Kind: joincore.Fixed, Width: 24}}, Segments: []joincore.Segment{
		{Rows: 1, Columns: []joincore.Vector{{Values: values[:24]}}},
		{Rows: 2, Columns: []joincore.Vector{{Values: values[24:], Validity: []byte{0b10}}}},
	}}
	h, err := New(0, rel)
	if err != nil || !h.Nullable(0) {
		t.Fatal(err)
	}
	r := h.Reader(0)
	v := &joincore.Vector{Values: bytes.Repeat([]byte{0xa5}, 5*24), Validity: []byte{0xff}}
	r.WriteFixed(v, 1, Numbers{List: []uint32{2, 1, 0, None}}, 4)
	want := append(append(append(bytes.Repeat([]byte{0xa5}, 24), values[48:]...), make([]byte, 24)...), values[:24]...)
	want = append(want, make([]byte, 24)...)
	if !bytes.Equal(v.Values, want) || v.Validity[0] != 0b1110_1011 {
		t.Errorf("%v, validity %08b", v.Values, v.Validity[0])
	}
}

func TestMissingInputs(t *testing.T) {
	v := batchVector(4, 8)
	WriteMissing(v, joincore.Column{Kind: joincore.Varlena}, 1, 4, 2)
	if got := binary.LittleEndian.Uint32(v.Values[4*3:]); got != 4 || v.Validity[0] != 0b1111_1001 {
		t.Errorf("offset %d, validity %08b", got, v.Validity[0])
	}
	f := &joincore.Vector{Values: bytes.Repeat([]byte{0xa5}, 8), Validity: []byte{0xff}}
	WriteMissing(f, joincore.Column{Kind: joincore.Fixed, Width: 2}, 1, 0, 2)
	if !bytes.Equal(f.Values, []byte{0xa5, 0xa5, 0, 0, 0, 0, 0xa5, 0xa5}) || f.Validity[0] != 0b1111_1001 {
		t.Errorf("%v, validity %08b", f.Values, f.Validity[0])
	}
}

func TestShortVectors(t *testing.T) {
	for name, v := range map[string]joincore.Vector{
		"values":   {Values: make([]byte, 7)},
		"validity": {Values: make([]byte, 36), Validity: make([]byte, 1)},
	} {
		rel := &joincore.Relation{Columns: []joincore.Column{{Kind: joincore.Fixed, Width: 4}},
			Segments: []joincore.Segment{{Rows: 9, Columns: []joincore.Vector{v}}}}
		if _, err := New(0, rel); !errors.Is(err, joincore.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := New(0, &joincore.Relation{Columns: []joincore.Column{{Kind: joincore.Fixed, Width: 3}}, Segments: []joincore.Segment{{Columns: make([]joincore.Vector, 1)}}}); !errors.Is(err, joincore.ErrUnsupported) {
		t.Error("a width of 3 is supported")
	}
}
