package reader

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gpujoin/joincore"
	"gpujoin/shm"
	"gpujoin/sidecar/filter"
	"gpujoin/testsupport/backend"
)

// How c/filter.c makes keys of values: fdw/feed/writer.h, GjCopy.
const (
	copyWord   = 3
	copyBytes  = 4
	copyText   = 5
	copyBpchar = 8
)

// filterInput is what c/filter.c reads.
func filterInput(kind, how uint32, keys [][]byte, extent []byte) []byte {
	b := binary.LittleEndian.AppendUint32(nil, kind)
	b = binary.LittleEndian.AppendUint32(b, how)
	b = binary.LittleEndian.AppendUint64(b, uint64(len(keys)))
	for _, k := range keys {
		b = binary.LittleEndian.AppendUint64(b, uint64(len(k)))
		b = append(b, k...)
		b = append(b, make([]byte, -len(k)&7)...)
	}
	return append(b, extent...)
}

// keyOf is the key of a value in a filter.
func keyOf(how uint32, value []byte) int64 {
	switch how {
	case copyWord:
		return int64(binary.LittleEndian.Uint64(value))
	case copyBpchar:
		value = bytes.TrimRight(value, " ")
	}
	return shm.HashBytes(value)
}

// passing is the result of c/filter.c according to the Go reader.
func passing(input []byte) uint64 {
	le := binary.LittleEndian
	kind, how, n := le.Uint32(input), le.Uint32(input[4:]), int(le.Uint32(input[8:]))
	width := map[uint32]uint64{copyWord: 8, copyBytes: 16}[how]
	if n > 60 || how != copyWord && how != copyBytes && how != copyText && how != copyBpchar {
		return 0
	}
	var keys []int64
	rest := input[16:]
	for range n {
		if len(rest) < 8 {
			return 0
		}
		length := le.Uint64(rest)
		if rest = rest[8:]; length > 2000 || uint64(len(rest)) < (length+7)/8*8 || width != 0 && length != width {
			return 0
		}
		keys = append(keys, keyOf(how, rest[:length]))
		rest = rest[(length+7)/8*8:]
	}
	f, err := shm.ReadFilter(rest)
	if err != nil || uint32(f.Header.Kind) != kind || (f.Header.Kind == uint16(shm.FilterBloomBytes)) != (how != copyWord) {
		return 0
	}
	result := uint64(1) << 63
	for i, k := range keys {
		if f.Test(k) {
			result |= 1 << i
		}
	}
	return result
}

// word is a key of 8 bytes.
func word(key int64) []byte { return binary.LittleEndian.AppendUint64(nil, uint64(key)) }

// integers draws keys of a source, and keys to test: some that it has, others
// near them, and extreme ones.
func integers(r *rand.Rand) (source, tested [][]byte) {
	spread := uint64(1) << r.IntN(64)
	tested = [][]byte{word(0), word(math.MinInt64), word(math.MaxInt64)}
	for range r.IntN(200) {
		key := int64(r.Uint64N(spread) - spread/2)
		source = append(source, word(key))
		if len(tested) < 50 {
			tested = append(tested, word(key+int64(r.IntN(3))-1))
		}
	}
	return source, tested
}

// texts draws the same of bytes, of a fixed length or not.
func texts(r *rand.Rand, how uint32) (source, tested [][]byte) {
	most := 1 << r.IntN(8)
	draw := func() []byte {
		n := r.IntN(most + 1)
		if how == copyBytes {
			n = 16
		}
		b := make([]byte, n)
		for i := range b {
			b[i] = "ab  \x00\xff"[r.IntN(6)]
		}
		return b
	}
	for range r.IntN(200) {
		key := draw()
		if how == copyBpchar {
			key = bytes.TrimRight(key, " ")
		}
		source = append(source, key)
		if len(tested) < 40 {
			if how == copyBpchar {
				key = append(bytes.Clone(key), "    "[:r.IntN(4)]...)
			}
			tested = append(tested, key, draw())
		}
	}
	return source, tested
}

// varlena is a value as a feed writes it.
func varlena(data []byte) []byte {
	if len(data) < 126 {
		return backend.Varlena(string(data), 4)
	}
	b := binary.LittleEndian.AppendUint32(nil, uint32(len(data)+4)<<2)
	b = append(b, data...)
	return append(b, make([]byte, -len(b)&3)...)
}

// relationOf makes a column of values as a feed does.
func relationOf(how uint32, values [][]byte) *joincore.Relation {
	s := joincore.Segment{Rows: len(values), Columns: make([]joincore.Vector, 1)}
	v := &s.Columns[0]
	c := joincore.Column{Kind: joincore.Fixed, Width: 8, Align: 8}
	switch how {
	case copyBytes:
		c.Width = 16
	case copyText, copyBpchar:
		c = joincore.Column{Kind: joincore.Varlena, Align: 4}
		v.Values = make([]byte, 4)
	}
	for _, value := range values {
		if c.Kind == joincore.Fixed {
			v.Values = append(v.Values, value...)
			continue
		}
		v.Heap = append(v.Heap, varlena(value)...)
		v.Values = binary.LittleEndian.AppendUint32(v.Values, uint32(len(v.Heap)))
	}
	return &joincore.Relation{Columns: []joincore.Column{c}, Segments: []joincore.Segment{s}}
}

// made makes a filter of random keys, and keys to test.
func made(t *testing.T, r *rand.Rand) []byte {
	how := []uint32{copyWord, copyWord, copyBytes, copyText, copyBpchar}[r.IntN(5)]
	source, tested := integers(r)
	if how != copyWord {
		source, tested = texts(r, how)
	}
	extent := make([]byte, 2048)
	h, err := filter.Make(extent, relationOf(how, source), 0, r.Uint64(), func() bool { return false })
	if err != nil {
		t.Fatal(err)
	}
	input := filterInput(uint32(h.Kind), how, tested, extent[:shm.FilterDataOff+h.Bytes])
	for i, key := range tested {
		has := slices.ContainsFunc(source, func(s []byte) bool { return keyOf(how, s) == keyOf(how, key) })
		if has && passing(input)>>i&1 == 0 {
			t.Fatalf("key %q of the source does not pass", key)
		}
	}
	return input
}

// TestFilters: feed/key_filter.c accepts the filters that the Go reader accepts, passes
// the same keys, and never reads out of bounds.
func TestFilters(t *testing.T) {
	r := random(t)
	var inputs [][]byte
	kinds := map[uint32]int{}
	for len(inputs) < *rounds {
		input := made(t, r)
		kinds[binary.LittleEndian.Uint32(input)]++
		inputs = append(inputs, input, mutate(r, input), mutate(r, input))
	}
	if kinds[uint32(shm.FilterBitmap)] < 100 || kinds[uint32(shm.FilterBloom)] < 100 || kinds[uint32(shm.FilterBloomBytes)] < 100 {
		t.Errorf("filters by kind: %v", kinds)
	}
	taken := 0
	build(t, "filter", "feed/key_filter.c", "numeric/decimal.c").try(t, inputs, func(input []byte, result uint64) {
		if len(input) < 16 {
			return
		}
		if want := passing(input); result != want {
			t.Errorf("%#x instead of %#x", result, want)
		}
		if result != 0 {
			taken++
		}
	})
	if taken < len(inputs)/3 || taken == len(inputs) {
		t.Errorf("%d of %d filters were taken", taken, len(inputs))
	}
}
