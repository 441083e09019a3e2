package shm

import (
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
