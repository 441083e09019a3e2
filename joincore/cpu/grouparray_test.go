package cpu

import (
	"bytes"
	"fmt"
	"math"
	"testing"
)

// TestPartCodes: equal integers have equal codes, others others, and NULL has
// code 0, whatever came before.
func TestPartCodes(t *testing.T) {
	for name, chunks := range map[string][][]int64{
		"upwards":         {{1, 2, 3}, {4, 9}, {100}, {1, 100}},
		"downwards":       {{50, 49}, {40}, {-100, 50}, {-101}},
		"both ways":       {{0}, {1}, {-1}, {2}, {-2}, {3}, {-1000, 1000}},
		"below the least": {{5}, {4}},
		"the least":       {{math.MinInt64}, {math.MinInt64 + 1}, {math.MinInt64}},
		"the greatest":    {{math.MaxInt64}, {math.MaxInt64 - 1}, {math.MaxInt64 - 7, math.MaxInt64}},
		"all of 16 bits":  {{0, 1<<16 - 2}, {5}},
	} {
		var c partCode
		for _, chunk := range chunks {
			ints, null, code := make([]uint64, len(chunk)+1), make([]uint8, len(chunk)+1), make([]uint32, len(chunk)+1)
			for i, x := range chunk {
				ints[i] = uint64(x)
			}
			null[len(chunk)] = 1
			if c.bits == 0 || !c.write(ints, null, code) {
				c.extend(ints, null)
				if !c.write(ints, null, code) {
					t.Fatalf("%s: %v do not fit after they extended the codes to %+v", name, chunk, c)
				}
			}
			if c.bits > arrayBits || code[len(chunk)] != 0 {
				t.Fatalf("%s: %v: %+v, NULL has code %d", name, chunk, c, code[len(chunk)])
			}
			without := make([]uint32, len(chunk))
			if !c.write(ints[:len(chunk)], nil, without) {
				t.Fatalf("%s: %v do not fit without NULL", name, chunk)
			}
			for i, x := range chunk {
				if code[i] == 0 || code[i] >= 1<<c.bits || uint64(x)-uint64(c.least)+1 != uint64(code[i]) || code[i] != without[i] {
					t.Errorf("%s: %d has codes %d and %d of %+v", name, x, code[i], without[i], c)
				}
			}
		}
	}
	var c partCode
	c.extend([]uint64{0, 1 << 16}, nil)
	if c.bits <= arrayBits {
		t.Errorf("2^16+1 integers have codes of %d bits", c.bits)
	}
	c = partCode{}
	c.extend([]uint64{1 << 63, 1<<63 - 1}, nil)
	if c.bits <= arrayBits {
		t.Errorf("all integers have codes of %d bits", c.bits)
	}
}

// TestDictionary: strings that differ in one byte, or in their length alone,
// have codes of their own.
func TestDictionary(t *testing.T) {
	d := newDictionary()
	codes := map[uint32]string{}
	for range 2 {
		for n := range dictionaryBytes + 1 {
			for at := -1; at < n; at++ {
				b := bytes.Repeat([]byte{0}, n)
				if at >= 0 {
					b[at] = 1
				}
				code := d.code(b)
				if first, ok := codes[code]; ok && first != string(b) || code == 0 {
					t.Fatalf("%x has code %d, as has %x", b, code, first)
				}
				codes[code] = string(b)
			}
		}
	}
	if len(codes) != len(d.values) || d.full {
		t.Errorf("%d strings have %d codes; full: %v", len(d.values), len(codes), d.full)
	}
	if d.code(make([]byte, dictionaryBytes+1)); !d.full {
		t.Error("the dictionary took a string that is too long")
	}
	d = newDictionary()
	for i := range dictionaryValues {
		d.code(fmt.Append(nil, i))
	}
	if d.full {
		t.Error("the dictionary is full too early")
	}
	if d.code([]byte("one more")); !d.full {
		t.Error("the dictionary took a string too many")
	}
}
