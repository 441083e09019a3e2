package joincore_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"gpujoin/joincore"
)

// TestPutText: headers are those that the extension writes (put_varlena), up to 126 bytes of
// one byte, and padding is 0.
func TestPutText(t *testing.T) {
	for _, c := range []struct {
		length, align int
		header        []byte
		size          int
	}{
		{0, 4, []byte{3}, 4},
		{1, 4, []byte{5}, 4},
		{1, 1, []byte{5}, 2},
		{3, 4, []byte{9}, 4},
		{4, 4, []byte{11}, 8},
		{126, 4, []byte{255}, 128},
		{127, 4, []byte{131 << 2 & 255, 131 << 2 >> 8, 0, 0}, 132},
		{127, 8, []byte{131 << 2 & 255, 131 << 2 >> 8, 0, 0}, 136},
		{1 << 20, 4, []byte{4 << 2, 0, 1 << 6, 0}, 1<<20 + 4},
	} {
		payload := bytes.Repeat([]byte{'x'}, c.length)
		want := append(bytes.Clone(c.header), payload...)
		want = append(want, make([]byte, c.size-len(want))...)
		if size := joincore.TextSize(c.length, c.align); size != c.size {
			t.Errorf("%d bytes, alignment %d: size %d, want %d", c.length, c.align, size, c.size)
			continue
		}
		got := bytes.Repeat([]byte{'?'}, c.size)
		if joincore.PutText(got, payload); !bytes.Equal(got, want) {
			t.Errorf("%d bytes, alignment %d: %.20x, want %.20x", c.length, c.align, got, want)
		}
	}
}

func TestTextPayload(t *testing.T) {
	long := strings.Repeat("x", 200)
	for name, c := range map[string]struct {
		value, want string
		ok          bool
	}{
		"short":                {"\x05a\x00\x00", "a", true},
		"short, empty":         {"\x03\x00\x00\x00", "", true},
		"long":                 {"\x30\x03\x00\x00" + long + "\x00\x00\x00\x00", long, true},
		"long, empty":          {"\x10\x00\x00\x00", "", true},
		"no bytes":             {"", "", false},
		"chained":              {"\x01G\x00\x00", "", false},
		"compressed":           {"\x12\x00\x00\x00", "", false},
		"part of a header":     {"\x10\x00", "", false},
		"longer than its span": {"\x0ba\x00\x00", "", false},
		"less than its header": {"\x0c\x00\x00\x00", "", false},
	} {
		got, err := joincore.TextPayload([]byte(c.value))
		ok := err == nil
		if ok != c.ok || !bytes.Equal(got, []byte(c.want)) {
			t.Errorf("%s: %q, %v", name, got, ok)
		}
		if ok && cap(got) != len(got) {
			t.Errorf("%s: bytes after the value can be reached", name)
		}
		if errors.Is(err, joincore.ErrChained) != (name == "chained") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
