//go:build cuda

package rowid

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"testing"

	"gpujoin/joincore"
	"gpujoin/joincore/device"
	"gpujoin/testsupport/columnartest"
)

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
	probes       int // number of times the build side is probed
}

func (c joinCase) String() string {
	return fmt.Sprintf("%s, %d with %d rows, %s, nulls %v, positions %v, emit %d, mark %v (found %v), residual %v, %d probes, %+v",
		c.keys.name, c.build, c.probe, distributions[c.distribution].name, c.nulls, c.positioned, c.emit, c.mark, c.found, c.residual, c.probes, c.options)
}

// partners returns the matching build rows of each probe row.
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

// expected adds the expected result of one probe to want and to the marks.
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
		// The consumer of the rows may use the arena.
		mark := r.arena.Mark()
		r.alloc(1 << 20)
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

// randomCase returns a case with random settings.
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
	// Cases that compare many pairs get small sides.
	if c.keys.name == "none" || c.options.Collide {
		c.build, c.probe = min(c.build, 1500), min(c.probe, 1500)
	}
	if distributions[c.distribution].name != "unique" && c.build*c.probe > 1<<28 {
		c.distribution = 1
	}
	return c
}

// TestSmall launches every kernel of joins.
func TestSmall(t *testing.T) {
	r := newRig(t, 512<<20)
	var cases []joinCase
	for _, emit := range []device.Emit{device.Pairs, device.Outer, device.Semi, device.Anti, device.Nothing} {
		for _, keys := range []int{0, 1, 8, 12} {
			cases = append(cases,
				joinCase{keys: keyTypes[keys], build: 300, probe: 700, distribution: 2, nulls: 0.1, emit: emit, mark: true, probes: 2, residual: keys == 8, options: Options{Bits: 3, Region: 2048}},
				joinCase{keys: keyTypes[keys], build: 500, probe: 400, distribution: 1, positioned: true, emit: emit, mark: emit == device.Nothing, probes: 1, options: Options{Bits: 9 * (keys & 1)}},
				joinCase{keys: keyTypes[keys], build: 500, probe: 400, distribution: 1, nulls: 0.1, emit: emit, mark: emit == device.Nothing, probes: 1, options: Options{OneTable: true}})
		}
	}
	var i int
	for i, r.rand = range columnartest.Trials(t, len(cases)) {
		r.check(cases[i])
	}
}

func TestKindsAndKeys(t *testing.T) {
	r := newLongRig(t, 2<<30)
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
	if testing.Short() {
		edges = []int64{0, 1, 31, 32, 33, 3839, 3840, 3841}
	}
	var i int
	for i, r.rand = range columnartest.Trials(t, len(edges)*len(edges)) {
		build, probe := edges[i/len(edges)], edges[i%len(edges)]
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

func TestManyRows(t *testing.T) {
	r := newLongRig(t, 8<<30)
	for range 12 {
		c := r.randomCase(200_000+r.rand.Int64N(100_000), 400_000)
		if c.distribution > 1 {
			c.distribution = 1
		}
		r.check(c)
	}
}
