package shm

import (
	"bytes"
	"strings"
	"testing"
)

// Vectors of the hash in filter.h, computed from its text. tests/reader compares
// the extension's own with HashBytes.
func TestHashBytes(t *testing.T) {
	for _, c := range []struct {
		text string
		want uint64
	}{
		{"", 0x0},
		{"a", 0xd80b22c3c98a8b0},
		{"ab", 0xc09577ac5176cfbd},
		{"abc", 0x8c97a7acc35e1a56},
		{"abcd", 0x6e342b9bc4897ef4},
		{"abcdefg", 0x14acf903bc4ddff5},
		{"abcdefgh", 0x12e7e90c461b5767},
		{"abcdefghi", 0xfa54beaf4bbdb728},
		{"Grüße", 0xc6a616a21fe8891e},
		{"customer#000000001", 0x33f343ef20339df6},
		{"customer#000000010", 0xc48643efd7469df6},
		{"0123456789abcdef", 0x3b7dac9780c2341c},
	} {
		if got := uint64(HashBytes([]byte(c.text))); got != c.want {
			t.Errorf("%q: %#x instead of %#x", c.text, got, c.want)
		}
	}
}

func TestVarlenaData(t *testing.T) {
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
		got, ok := VarlenaData([]byte(c.value))
		if ok != c.ok || !bytes.Equal(got, []byte(c.want)) {
			t.Errorf("%s: %q, %v", name, got, ok)
		}
		if ok && cap(got) != len(got) {
			t.Errorf("%s: bytes after the value can be reached", name)
		}
	}
}
