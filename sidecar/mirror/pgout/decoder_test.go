package pgout

import (
	"bytes"
	"encoding/binary"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"
)

// be joins bytes, texts and big-endian integers.
func be(parts ...any) (out []byte) {
	for _, p := range parts {
		switch v := p.(type) {
		case byte:
			out = append(out, v)
		case rune:
			out = append(out, byte(v))
		case string:
			out = append(out, v...)
		case []byte:
			out = append(out, v...)
		default:
			out, _ = binary.Append(out, binary.BigEndian, v)
		}
	}
	return out
}

// values joins the values of a tuple: nil is NULL, a rune its kind alone, a []byte binary and a
// string text.
func values(of ...any) []byte {
	out := be(uint16(len(of)))
	for _, v := range of {
		switch v := v.(type) {
		case nil:
			out = be(out, 'n')
		case rune:
			out = be(out, v)
		case string:
			out = be(out, 't', uint32(len(v)), v)
		case []byte:
			out = be(out, 'b', uint32(len(v)), v)
		}
	}
	return out
}

// samples are messages as PostgreSQL 15 sends them, and what they mean.
func samples() []struct {
	bytes []byte
	want  Message
} {
	key := Tuple{{Kind: Binary, Data: be(uint32(7))}, {Kind: Null}}
	row := Tuple{{Kind: Binary, Data: be(uint32(7))}, {Kind: Text, Data: []byte("x")}, {Kind: Unchanged}, {Kind: Null}, {Kind: Binary, Data: []byte{}}}
	rowBytes := values(be(uint32(7)), "x", 'u', nil, []byte{})
	keyBytes := values(be(uint32(7)), nil)
	return []struct {
		bytes []byte
		want  Message
	}{
		{be('B', uint64(0x16B3748), int64(812345678901234), uint32(741)), &Begin{0x16B3748, 812345678901234, 741}},
		{be('C', byte(0), uint64(0x16B3748), uint64(0x16B3778), int64(5)), &Commit{0x16B3748, 0x16B3778, 5}},
		{be('O', uint64(9), "elsewhere\x00"), &Origin{9, []byte("elsewhere")}},
		{be('R', uint32(16385), "public\x00orders\x00", 'd', uint16(2), byte(1), "o_orderkey\x00", uint32(20), ^uint32(0), byte(0), "o_comment\x00", uint32(1043), uint32(83)),
			&Relation{16385, []byte("public"), []byte("orders"), 'd', []Column{{true, []byte("o_orderkey"), 20, -1}, {false, []byte("o_comment"), 1043, 83}}}},
		{be('Y', uint32(16400), "public\x00mood\x00"), &Type{16400, []byte("public"), []byte("mood")}},
		{be('I', uint32(16385), 'N', rowBytes), &Insert{16385, row}},
		{be('U', uint32(16385), 'N', rowBytes), &Update{16385, 0, Tuple{}, row}},
		{be('U', uint32(16385), 'K', keyBytes, 'N', rowBytes), &Update{16385, 'K', key, row}},
		{be('U', uint32(16385), 'O', rowBytes, 'N', rowBytes), &Update{16385, 'O', row, row}},
		{be('D', uint32(16385), 'K', keyBytes), &Delete{16385, 'K', key}},
		{be('D', uint32(16385), 'O', rowBytes), &Delete{16385, 'O', row}},
		{be('T', uint32(2), byte(3), uint32(16385), uint32(16391)), &Truncate{true, true, []uint32{16385, 16391}}},
		{be('M', byte(1), uint64(77), "pre\x00", uint32(4), "text"), &Logical{true, 77, []byte("pre"), []byte("text")}},
	}
}

// normal makes messages comparable that differ in the capacity of their slices only.
func normal(m Message) Message {
	if u, ok := m.(*Update); ok && len(u.Old) == 0 {
		u.Old = Tuple{}
	}
	return m
}

func TestDecode(t *testing.T) {
	var d Decoder
	for range 2 { // the second time into memory that is in use
		for _, s := range samples() {
			got, err := d.Decode(s.bytes)
			if err != nil {
				t.Errorf("%q: %v", s.bytes, err)
			} else if !reflect.DeepEqual(normal(got), s.want) {
				t.Errorf("%q:\n%+v, want\n%+v", s.bytes, got, s.want)
			}
		}
	}
}

// No part of a message is a message, nor is one with a byte behind it.
func TestDecodeRefuses(t *testing.T) {
	var d Decoder
	refuse := func(b []byte, why string) {
		t.Helper()
		if _, err := d.Decode(b); !errors.Is(err, ErrMalformed) || !strings.Contains(err.Error(), why) {
			t.Errorf("%q: error %v, want one with %q", b, err, why)
		}
	}
	for _, s := range samples() {
		for n := range len(s.bytes) {
			refuse(s.bytes[:n], "")
		}
		refuse(append(bytes.Clone(s.bytes), 0), map[bool]string{true: "number of tables", false: "bytes follow"}[s.bytes[0] == 'T'])
	}
	refuse(be('I', uint32(1), 'N', uint16(65535), strings.Repeat("n", 65535)), "more columns")
	refuse(be('I', uint32(1), 'N', uint16(1), 'b', uint32(0xffffffff)), "longer than the message")
	refuse(be('I', uint32(1), 'N', uint16(1), 'x'), "unknown kind")
	refuse(be('I', uint32(1), 'K', values(nil)), "no new row")
	refuse(be('U', uint32(1), 'K', values(nil), 'K', values(nil)), "no new row")
	refuse(be('D', uint32(1), 'N', values(nil)), "no old row")
	refuse(be('T', uint32(0x40000001), byte(0), uint32(1)), "number of tables")
	refuse(be('R', uint32(1), "s\x00t\x00", 'd', uint16(2000)), "too many columns")
	refuse(be('S', uint32(1), byte(1)), "type is unknown") // streaming is off
	refuse(be('C', byte(1), uint64(0), uint64(0), int64(0)), "unknown flags")
}

func TestTime(t *testing.T) {
	for n, want := range map[int64]string{
		0: "2000-01-01T00:00:00Z", -1: "1999-12-31T23:59:59.999999Z", 812345678901234: "2025-09-28T03:34:38.901234Z",
	} {
		if got := Time(n).Format(time.RFC3339Nano); got != want {
			t.Errorf("Time(%d) = %s, want %s", n, got, want)
		}
	}
}

func TestDecodeAllocatesNothing(t *testing.T) {
	var d Decoder
	all := samples()
	if n := testing.AllocsPerRun(100, func() {
		for _, s := range all {
			if _, err := d.Decode(s.bytes); err != nil {
				t.Fatal(err)
			}
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// FuzzDecode checks that slices of a message are parts of the input and clipped.
func FuzzDecode(f *testing.F) {
	for _, s := range samples() {
		f.Add(s.bytes)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var d Decoder
		before := bytes.Clone(b)
		m, err := d.Decode(b)
		if (m == nil) != (err != nil) {
			t.Fatalf("%v with error %v", m, err)
		}
		total := 0
		for _, tuple := range []Tuple{d.insert.New, d.update.Old, d.update.New, d.remove.Old} {
			for _, v := range tuple {
				total += len(v.Data)
				if cap(v.Data) != len(v.Data) {
					t.Fatalf("a value of %d bytes has a capacity of %d", len(v.Data), cap(v.Data))
				}
				_ = append(v.Data, 0xff)
			}
		}
		if total > len(b) {
			t.Fatalf("values of %d bytes in a message of %d", total, len(b))
		}
		if !bytes.Equal(b, before) {
			t.Fatal("appending to a value has changed the message")
		}
	})
}

func BenchmarkDecode(b *testing.B) {
	order := values(be(uint64(123456)), be(uint32(4711)), []byte("O"), be(uint16(3), int16(1), uint16(0), uint16(2), uint16(17), uint16(3665), uint16(6900)),
		be(int64(-1461))[4:], []byte("5-LOW          "), []byte("Clerk#000000951"), be(uint32(0)), []byte("nstructions sleep furiously among "))
	for _, c := range []struct {
		name  string
		bytes []byte
	}{{"insert-9-columns", be('I', uint32(16385), 'N', order)}, {"update-9-columns-key", be('U', uint32(16385), 'K', order, 'N', order)}, {"commit", samples()[1].bytes}} {
		b.Run(c.name, func(b *testing.B) {
			var d Decoder
			b.ReportAllocs()
			for b.Loop() {
				if _, err := d.Decode(c.bytes); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "messages/s")
		})
	}
}
