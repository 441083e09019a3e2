package joincore_test

import (
	"bytes"
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
