//go:build cuda

package rowid

import (
	"encoding/binary"
	"fmt"
	"slices"

	"gpujoin/joincore"
	"gpujoin/joincore/cuda/driver"
)

// testSide is one side of a join: columns of one input, and the rows of it
// that the space has.
type testSide struct {
	columns   []testColumn
	positions []uint32 // nil: all rows in order
	rows      int64    // of the space
}

// testColumn is a column on the host.
type testColumn struct {
	described joincore.Column
	values    [][]byte // nil: NULL
}

// at returns a value of a row of the space; nil: NULL.
func (s *testSide) at(column int, row uint32) []byte {
	if s.positions != nil {
		if row = s.positions[row]; row == None {
			return nil
		}
	}
	return s.columns[column].values[row]
}

func integer(b []byte) int64 {
	var v int64
	for i := range b {
		v |= int64(b[i]) << (8 * i)
	}
	unused := 64 - 8*len(b)
	return v << unused >> unused
}

// upload puts a side's columns on the device. Input number and side are the
// same: 0 build, 1 probe.
func (r *rig) upload(input int, s *testSide) Side {
	columns := make([]Column, len(s.columns))
	var positions driver.Ptr
	if s.positions != nil {
		positions = put(r, s.positions)
	}
	for i, c := range s.columns {
		d := Column{Width: c.described.Width, Positions: positions, Optional: s.positions != nil}
		n := int64(len(c.values))
		validity, heap, offsets, fixed := make([]byte, n), []byte(nil), []uint32{0}, []byte(nil)
		for j, v := range c.values {
			if v != nil {
				validity[j] = 1
				heap = append(heap, v...)
				fixed = append(fixed, v...)
			} else {
				fixed = append(fixed, r.random(c.described.Width)...) // must not matter
			}
			offsets = append(offsets, uint32(len(heap)))
		}
		if slices.Contains(validity, 0) {
			d.Validity = put(r, validity)
		}
		if c.described.Kind == joincore.Varlena {
			at := put(r, heap)
			d.Values, d.Width = r.alloc(16*n), 0
			r.must(r.Spans(put(r, offsets), at, int64(len(heap)), n, d.Values))
		} else {
			d.Values = put(r, fixed)
		}
		columns[i] = d
	}
	return Side{Rows: s.rows, Lookup: func(c joincore.ColumnRef) (Column, error) {
		if c.Input != input {
			return Column{Missing: true}, nil
		}
		return columns[c.Column], nil
	}}
}

// keyType is what a key's columns are on each side.
type keyType struct {
	name         string
	build, probe []joincore.Column
	classes      []joincore.KeyClass
}

func fixed(width int) joincore.Column { return joincore.Column{Kind: joincore.Fixed, Width: width} }

var varlena = joincore.Column{Kind: joincore.Varlena, Align: 4}

func oneKey(name string, class joincore.KeyClass, build, probe joincore.Column) keyType {
	return keyType{name, []joincore.Column{build}, []joincore.Column{probe}, []joincore.KeyClass{class}}
}

func twoKeys(a, b keyType) keyType {
	return keyType{a.name + "+" + b.name, append(slices.Clone(a.build), b.build...), append(slices.Clone(a.probe), b.probe...), append(slices.Clone(a.classes), b.classes...)}
}

var keyTypes = []keyType{
	oneKey("int4", joincore.KeyInt, fixed(4), fixed(4)),
	oneKey("int8", joincore.KeyInt, fixed(8), fixed(8)),
	oneKey("int2=int8", joincore.KeyInt, fixed(2), fixed(8)),
	oneKey("int1", joincore.KeyInt, fixed(1), fixed(1)),
	oneKey("int4=int2", joincore.KeyInt, fixed(4), fixed(2)),
	oneKey("bytes2", joincore.KeyBytes, fixed(2), fixed(2)),
	oneKey("bytes16", joincore.KeyBytes, fixed(16), fixed(16)),
	oneKey("bytes40", joincore.KeyBytes, fixed(40), fixed(40)),
	oneKey("varlena", joincore.KeyVarlena, varlena, varlena),
	twoKeys(oneKey("int4", joincore.KeyInt, fixed(4), fixed(4)), oneKey("int2", joincore.KeyInt, fixed(2), fixed(4))),
	twoKeys(oneKey("int8", joincore.KeyInt, fixed(8), fixed(8)), oneKey("int1", joincore.KeyInt, fixed(1), fixed(2))),
	twoKeys(oneKey("varlena", joincore.KeyVarlena, varlena, varlena), oneKey("int4", joincore.KeyInt, fixed(4), fixed(4))),
	{name: "none"},
}

// distributions of key values: row i of n to a small integer.
var distributions = []struct {
	name string
	pick func(r *rig, i, n int64) int64
}{
	{"unique", func(_ *rig, i, _ int64) int64 { return i }},
	{"duplicates", func(r *rig, _, n int64) int64 { return r.rand.Int64N(n/3 + 1) }},
	{"skew", func(r *rig, i, n int64) int64 {
		if i%3 == 0 {
			return 7
		}
		return r.rand.Int64N(n + 1)
	}},
	{"few", func(r *rig, _, _ int64) int64 { return r.rand.Int64N(20) }},
	{"disjoint", func(r *rig, i, n int64) int64 { return i*2 + r.rand.Int64N(1<<20) }},
}

// valueOf makes a value of a column's type from a small integer.
func valueOf(c joincore.Column, class joincore.KeyClass, x int64) []byte {
	b := binary.LittleEndian.AppendUint64(nil, uint64(x))
	if c.Kind == joincore.Varlena {
		b = b[:4]
		for range x % 7 {
			b = append(b, byte(x), 1, 2)
		}
		return b
	}
	for class == joincore.KeyBytes && len(b) < c.Width {
		b = append(b, byte(x>>8), 0, 1, 0, 0, 0, byte(x), 0)
	}
	return b[:c.Width]
}

// side makes a side: key columns, then two payload columns of 2 and 8 bytes.
func (r *rig) side(rows int64, columns []joincore.Column, classes []joincore.KeyClass, pick func(i int64) int64, nulls float64, positioned bool) *testSide {
	s := &testSide{rows: rows}
	inputs := rows
	if positioned {
		inputs = rows/2 + 1
		s.positions = r.positions(rows, inputs)
	}
	for c, described := range append(slices.Clone(columns), fixed(2), fixed(8)) {
		t := testColumn{described: described, values: make([][]byte, inputs)}
		for i := range t.values {
			switch {
			case r.rand.Float64() < nulls:
			case c < len(columns):
				t.values[i] = valueOf(described, classes[c], pick(int64(i))>>(4*c))
			default:
				t.values[i] = valueOf(described, joincore.KeyInt, int64(r.rand.IntN(200)-100))
			}
		}
		s.columns = append(s.columns, t)
	}
	return s
}

// keyOf returns a row's key as the parts' canonical bytes; ok: it has one.
func (s *testSide) keyOf(classes []joincore.KeyClass, row uint32) (key string, ok bool) {
	for c, class := range classes {
		v := s.at(c, row)
		if v == nil {
			return "", false
		}
		if class == joincore.KeyInt {
			v = binary.LittleEndian.AppendUint64(nil, uint64(integer(v)))
		}
		key += fmt.Sprintf("%d:%s", len(v), v)
	}
	return key, true
}
