package run_test

import (
	"encoding/binary"
	"math/rand/v2"

	"gpujoin/joincore"
)

// keyType is a type of join keys: the columns of each side, and their pairs.
type keyType struct {
	name        string
	left, right []joincore.Column
	class       []joincore.KeyClass
}

func fixed(width int) joincore.Column {
	return joincore.Column{Kind: joincore.Fixed, Width: width, Align: min(width, 8)}
}

var varlena = joincore.Column{Kind: joincore.Varlena, Align: 4}

func keysOf(name string, class joincore.KeyClass, left, right joincore.Column) keyType {
	return keyType{name, []joincore.Column{left}, []joincore.Column{right}, []joincore.KeyClass{class}}
}

func both(a, b keyType) keyType {
	return keyType{a.name + "+" + b.name, append(a.left, b.left...), append(a.right, b.right...), append(a.class, b.class...)}
}

var keyTypes = []keyType{
	keysOf("int8", joincore.KeyInt, fixed(8), fixed(8)),
	keysOf("int4", joincore.KeyInt, fixed(4), fixed(4)),
	keysOf("int2=int8", joincore.KeyInt, fixed(2), fixed(8)),
	keysOf("int4=int1", joincore.KeyInt, fixed(4), fixed(1)),
	keysOf("bytes2", joincore.KeyBytes, fixed(2), fixed(2)),
	keysOf("bytes16", joincore.KeyBytes, fixed(16), fixed(16)),
	keysOf("bytes64", joincore.KeyBytes, fixed(64), fixed(64)),
	keysOf("varlena", joincore.KeyVarlena, varlena, varlena),
	both(keysOf("int4", joincore.KeyInt, fixed(4), fixed(2)), keysOf("int4", joincore.KeyInt, fixed(4), fixed(4))),
	both(keysOf("int8", joincore.KeyInt, fixed(8), fixed(8)), keysOf("int2", joincore.KeyInt, fixed(2), fixed(4))),
	both(keysOf("int4", joincore.KeyInt, fixed(4), fixed(4)), keysOf("varlena", joincore.KeyVarlena, varlena, varlena)),
	both(both(keysOf("int1", joincore.KeyInt, fixed(1), fixed(1)), keysOf("int2", joincore.KeyInt, fixed(2), fixed(2))), keysOf("int4", joincore.KeyInt, fixed(4), fixed(4))),
	{name: "none"},
}

// distribution says how key values repeat.
type distribution struct {
	name  string
	nulls float64
	pick  func(r *rand.Rand, row, rows int) int // of a domain of small integers
}

var distributions = []distribution{
	{"unique", 0, func(_ *rand.Rand, row, _ int) int { return row }},
	{"unique-nulls", 0.2, func(_ *rand.Rand, row, _ int) int { return row }},
	{"duplicates", 0, func(r *rand.Rand, _, rows int) int { return r.IntN(rows/3 + 1) }},
	{"duplicates-nulls", 0.3, func(r *rand.Rand, _, rows int) int { return r.IntN(rows/3 + 1) }},
	{"skew", 0.05, func(r *rand.Rand, row, _ int) int {
		if row%2 == 0 {
			return 0
		}
		return r.IntN(50)
	}},
	{"one", 0, func(*rand.Rand, int, int) int { return 7 }},
	{"all-null", 1, func(*rand.Rand, int, int) int { return 0 }},
	{"extreme", 0.1, func(r *rand.Rand, _, _ int) int { return -r.IntN(3) * (1 << 62) }},
}

// payload is what every generated relation has behind its key columns.
var payload = []joincore.Column{fixed(8), fixed(1), varlena, fixed(4), fixed(24)}

// generate makes a relation of key and payload columns.
func generate(r *rand.Rand, keys []joincore.Column, rows, segmentRows int, d distribution) *joincore.Relation {
	rel := &joincore.Relation{Columns: append(append([]joincore.Column{}, keys...), payload...)}
	for at := 0; at < rows; at += segmentRows {
		n := min(segmentRows, rows-at)
		s := joincore.Segment{Rows: n}
		for c, col := range rel.Columns {
			nulls := d.nulls
			if c >= len(keys) {
				nulls = 0.1 * float64(c%2)
			}
			s.Columns = append(s.Columns, vector(r, col, n, nulls, func(i int) int {
				if c < len(keys) {
					return d.pick(r, at+i, rows) >> (8 * c) // the first key decides most
				}
				return r.IntN(1000) - 500
			}))
		}
		rel.Segments = append(rel.Segments, s)
	}
	return rel
}

// vector makes a column whose values are functions of small integers.
func vector(r *rand.Rand, col joincore.Column, n int, nulls float64, pick func(i int) int) joincore.Vector {
	var v joincore.Vector
	if nulls > 0 {
		v.Validity = make([]byte, (n+7)/8)
	}
	if col.Kind == joincore.Varlena {
		v.Values = binary.LittleEndian.AppendUint32(v.Values, 0)
	}
	for i := range n {
		x := pick(i)
		null := r.Float64() < nulls
		if !null && v.Validity != nil {
			v.Validity[i/8] |= 1 << (i % 8)
		}
		if col.Kind == joincore.Varlena {
			if !null {
				v.Heap = append(v.Heap, varlenaOf(x, col.Align)...)
			}
			v.Values = binary.LittleEndian.AppendUint32(v.Values, uint32(len(v.Heap)))
			continue
		}
		if null {
			x = r.Int() // must not matter
		}
		value := binary.LittleEndian.AppendUint64(nil, uint64(x))
		for len(value) < col.Width {
			value = append(value, byte(x), 0, 1, 0, 0, 0, byte(x>>8), 0)
		}
		v.Values = append(v.Values, value[:col.Width]...)
	}
	return v
}

// varlenaOf makes a value of 4 to 40 bytes from an integer, padded.
func varlenaOf(x, align int) []byte {
	b := binary.LittleEndian.AppendUint32(nil, uint32(x))
	for range (x & 0xff) % 10 {
		b = append(b, byte(x), 1, 2)
	}
	for len(b)%align != 0 {
		b = append(b, 0)
	}
	return b
}
