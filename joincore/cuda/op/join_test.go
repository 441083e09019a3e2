//go:build cuda

package op

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"testing"

	"gpujoin/joincore"
	"gpujoin/joincore/cuda/driver"
	"gpujoin/joincore/device"
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
			d.Values, d.Width = r.room(16*n), 0
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

type pair struct{ build, probe uint32 }

func comparePairs(a, b pair) int {
	if c := cmp.Compare(a.probe, b.probe); c != 0 {
		return c
	}
	return cmp.Compare(a.build, b.build)
}

// joinCase is one join in all its settings.
type joinCase struct {
	keys         keyType
	build, probe int64
	distribution int
	nulls        float64
	positioned   bool
	emit         device.Emit
	mark, found  bool
	residual     bool
	options      Options
	probes       int // how many times the build side is probed
}

func (c joinCase) String() string {
	return fmt.Sprintf("%s, %d with %d rows, %s, nulls %v, positions %v, emit %d, mark %v (found %v), residual %v, %d probes, %+v",
		c.keys.name, c.build, c.probe, distributions[c.distribution].name, c.nulls, c.positioned, c.emit, c.mark, c.found, c.residual, c.probes, c.options)
}

// partners returns, for each probe row, the build rows that are its partners.
func (c *joinCase) partners(build, probe *testSide) [][]uint32 {
	byKey := map[string][]uint32{}
	for i := range uint32(build.rows) {
		if key, ok := build.keyOf(c.keys.classes, i); ok {
			byKey[key] = append(byKey[key], i)
		}
	}
	out := make([][]uint32, probe.rows)
	narrow, wide := len(c.keys.classes), len(c.keys.classes)+1
	for i := range uint32(probe.rows) {
		key, ok := probe.keyOf(c.keys.classes, i)
		if !ok {
			continue
		}
		for _, b := range byKey[key] {
			if c.residual {
				x, y := build.at(narrow, b), probe.at(wide, i)
				if x == nil || y == nil || integer(x) >= integer(y) {
					continue
				}
			}
			out[i] = append(out[i], b)
		}
	}
	return out
}

// expected adds what one probe has to return to want and to the marks.
func (c *joinCase) expected(partners [][]uint32, marks []bool) []pair {
	var want []pair
	for i, found := range partners {
		p := pair{None, uint32(i)}
		for _, b := range found {
			marks[b] = true
			if c.emit == device.Pairs || c.emit == device.Outer {
				want = append(want, pair{b, p.probe})
			}
		}
		if c.emit == device.Semi && found != nil || (c.emit == device.Anti || c.emit == device.Outer) && found == nil {
			want = append(want, p)
		}
	}
	return want
}

func (r *rig) collect(to *[]pair) func(Pairs) error {
	return func(p Pairs) error {
		if p.Rows == 0 {
			return errors.New("an empty part was emitted")
		}
		part := make([]pair, p.Rows)
		build, probe := slices.Repeat([]uint32{None}, int(p.Rows)), slices.Repeat([]uint32{None}, int(p.Rows))
		if p.Build != 0 {
			build = get[uint32](r, p.Build, p.Rows)
		}
		if p.Probe != 0 {
			probe = get[uint32](r, p.Probe, p.Rows)
		}
		for i := range part {
			part[i] = pair{build[i], probe[i]}
		}
		// Whoever takes rows may use the arena.
		mark := r.arena.Mark()
		r.room(1 << 20)
		r.arena.Rewind(mark)
		*to = append(*to, part...)
		return nil
	}
}

// check runs a case against the reference.
func (r *rig) check(c joinCase) {
	r.Helper()
	pick := func(n int64) func(int64) int64 {
		return func(i int64) int64 { return distributions[c.distribution].pick(r, i, n) }
	}
	build := r.side(c.build, c.keys.build, c.keys.classes, pick(c.build), c.nulls, c.positioned)
	described := append(slices.Clone(c.keys.build), c.keys.probe...)
	var pairs []joincore.KeyPair
	for i, class := range c.keys.classes {
		pairs = append(pairs, joincore.KeyPair{Left: joincore.ColumnRef{Column: i}, Right: joincore.ColumnRef{Input: 1, Column: i}, Class: class})
	}
	left, right := device.Keys(pairs, func(ref joincore.ColumnRef) joincore.Column {
		return described[ref.Input*len(c.keys.build)+ref.Column]
	})
	spec := &JoinSpec{Match: device.Match{Build: left, Probe: right, Emit: c.emit, Mark: c.mark}, Options: c.options}
	if c.residual {
		n := len(c.keys.classes)
		spec.Residual = &joincore.Compare{Op: joincore.Less, Left: joincore.ColumnRef{Column: n}, Right: joincore.ColumnRef{Input: 1, Column: n + 1}}
	}
	r.scoped(func() {
		j, err := r.Prepare(r.ctx, spec, r.upload(0, build))
		if err != nil {
			r.Fatalf("%v: %v", c, err)
		}
		defer j.Release()
		marks := make([]bool, c.build)
		for range c.probes {
			probe := r.side(c.probe, c.keys.probe, c.keys.classes, pick(c.build), c.nulls, c.positioned)
			want := c.expected(c.partners(build, probe), marks)
			var got []pair
			r.scoped(func() {
				if err := j.Probe(r.ctx, r.upload(1, probe), r.collect(&got)); err != nil {
					r.Fatalf("%v: %v", c, err)
				}
			})
			r.compare(c.String(), got, want)
		}
		if !c.mark {
			return
		}
		var got, want []pair
		for i, m := range marks {
			if m == c.found {
				want = append(want, pair{uint32(i), None})
			}
		}
		if err := j.Leftover(r.ctx, c.found, r.collect(&got)); err != nil {
			r.Fatalf("%v: %v", c, err)
		}
		r.compare("left over of "+c.String(), got, want)
	})
}

func (r *rig) compare(name string, got, want []pair) {
	r.Helper()
	slices.SortFunc(got, comparePairs)
	slices.SortFunc(want, comparePairs)
	if slices.Equal(got, want) {
		return
	}
	at := 0
	for at < min(len(got), len(want)) && got[at] == want[at] {
		at++
	}
	r.Errorf("%s: %d rows, want %d; from row %d on got %v, want %v", name, len(got), len(want), at, got[at:min(at+5, len(got))], want[at:min(at+5, len(want))])
}

// randomCase chooses the settings of a case.
func (r *rig) randomCase(build, probe int64) joinCase {
	c := joinCase{
		keys: keyTypes[r.rand.IntN(len(keyTypes))], build: build, probe: probe, distribution: r.rand.IntN(len(distributions)),
		positioned: r.rand.IntN(3) == 0, emit: device.Emit(1 + r.rand.IntN(5)), residual: r.rand.IntN(3) == 0, probes: 1 + r.rand.IntN(2),
		options: Options{Bits: []int{0, 0, 1, 5, 8, 9, 12, 16}[r.rand.IntN(8)], OneTable: r.rand.IntN(3) == 0, Collide: r.rand.IntN(3) == 0, Seed: r.rand.Uint64()},
	}
	if c.emit == device.Nothing || r.rand.IntN(3) == 0 {
		c.mark, c.found = true, r.rand.IntN(2) == 0
	}
	if r.rand.IntN(2) == 0 {
		c.nulls = []float64{0.1, 0.9, 1}[r.rand.IntN(3)]
	}
	if r.rand.IntN(2) == 0 {
		c.options.Region = 1 << (10 + r.rand.IntN(6))
	}
	// Nested loops are for small sides.
	if c.keys.name == "none" || c.options.Collide {
		c.build, c.probe = min(c.build, 1500), min(c.probe, 1500)
	}
	if distributions[c.distribution].name != "unique" && c.build*c.probe > 1<<28 {
		c.distribution = 1
	}
	return c
}

// TestSmall is small enough for compute-sanitizer.
func TestSmall(t *testing.T) {
	r := newRig(t, 512<<20)
	for _, emit := range []device.Emit{device.Pairs, device.Outer, device.Semi, device.Anti, device.Nothing} {
		for _, keys := range []int{0, 1, 8, 12} {
			r.check(joinCase{keys: keyTypes[keys], build: 300, probe: 700, distribution: 2, nulls: 0.1, emit: emit, mark: true, probes: 2, residual: keys == 8, options: Options{Bits: 3, Region: 2048}})
			r.check(joinCase{keys: keyTypes[keys], build: 500, probe: 400, distribution: 1, positioned: true, emit: emit, mark: emit == device.Nothing, probes: 1, options: Options{Bits: 9 * (keys & 1)}})
			r.check(joinCase{keys: keyTypes[keys], build: 500, probe: 400, distribution: 1, nulls: 0.1, emit: emit, mark: emit == device.Nothing, probes: 1, options: Options{OneTable: true}})
		}
	}
}

func TestKindsAndKeys(t *testing.T) {
	r := newRig(t, 2<<30)
	for _, keys := range keyTypes {
		for emit := device.Pairs; emit <= device.Nothing; emit++ {
			for _, mark := range []bool{false, true} {
				c := r.randomCase(2000, 3000)
				c.keys, c.emit, c.mark = keys, emit, mark || emit == device.Nothing
				r.check(c)
			}
		}
	}
}

func TestSizes(t *testing.T) {
	r := newRig(t, 4<<30)
	edges := []int64{0, 1, 31, 32, 33, 1023, 3839, 3840, 3841, 7680, 7681, 14335, 14336, 14337}
	for _, build := range edges {
		for _, probe := range edges {
			c := r.randomCase(build, probe)
			if r.rand.IntN(2) == 0 {
				c.keys, c.options.Collide = keyTypes[r.rand.IntN(2)], false
				c.build, c.probe = build, probe
			}
			if c.distribution > 1 {
				c.distribution = 0
			}
			r.check(c)
		}
	}
}

func TestManyRows(t *testing.T) {
	r := newRig(t, 8<<30)
	for range 12 {
		c := r.randomCase(200_000+r.rand.Int64N(100_000), 400_000)
		if c.distribution > 1 {
			c.distribution = 1
		}
		r.check(c)
	}
}
