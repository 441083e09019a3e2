package cpu

import (
	"math/bits"
)

// groupArray finds groups without a hash table, by an array of their numbers.
// Each part of a key becomes a code, and the codes next to each other are the
// index. The array grows with the keys that it meets, and is given up where
// they are too many. A key that it does not know is looked up in the table.
type groupArray struct {
	off    bool
	codes  []partCode
	groups []uint32 // by index; 0: unknown
	grown  int      // how often it grew

	index, code, found []uint32 // of the rows of a chunk
}

// arrayBits is the most bits of an index. An array that grows more than
// arrayGrowths times meets its keys in an order for which it is not made.
const (
	arrayBits    = 16
	arrayGrowths = 64
)

func newGroupArray(p *groupPlan) groupArray {
	n := p.dev.chunk
	if len(p.keys) == 0 || p.dev.collide {
		return groupArray{off: true}
	}
	a := groupArray{
		codes: make([]partCode, len(p.keys)),
		index: make([]uint32, n), code: make([]uint32, n), found: make([]uint32, n),
	}
	for i := range p.keys {
		if p.keys[i].span >= 0 {
			a.codes[i].dictionary = newDictionary()
		}
	}
	return a
}

// group sets group to the group of each row. If known is false, group is unspecified and
// the caller must use the hash table for all rows.
func (a *groupArray) group(g *grouper, r *rows, s *source, group []uint32) (known bool, err error) {
	if a.off {
		return false, nil
	}
	if err := a.indexes(g, r, s); err != nil || a.off {
		return false, err
	}
	least := ^uint32(0)
	for i, at := range a.index[:r.n] {
		x := a.groups[at]
		group[i] = x
		least = min(least, x)
	}
	if least > 0 {
		return true, nil
	}
	return a.learn(g, r, s, group)
}

// indexes computes the index of each row. The codes of a part do not depend on
// how many bits those of the parts behind it have.
func (a *groupArray) indexes(g *grouper, r *rows, s *source) error {
	index, shift, grew := a.index[:r.n], uint(0), false
	for i := range s.keys {
		code, c := index, &a.codes[i]
		if i > 0 {
			code = a.code[:r.n]
		}
		before := *c
		if err := c.of(g, r, &s.keys[i], g.vectors[i], code); err != nil {
			return err
		}
		if i > 0 {
			for j, x := range code {
				index[j] |= x << shift
			}
		}
		grew = grew || c.bits != before.bits || c.least != before.least
		if shift += c.bits; shift > arrayBits {
			a.stop()
			return nil
		}
	}
	if !grew && a.groups != nil {
		return nil
	}
	if a.grown++; a.grown > arrayGrowths {
		a.stop()
		return nil
	}
	if len(a.groups) == 1<<shift {
		clear(a.groups)
	} else {
		a.groups = make([]uint32, 1<<shift)
	}
	return nil
}

// learn looks up the rows whose groups the array does not know.
func (a *groupArray) learn(g *grouper, r *rows, s *source, group []uint32) (known bool, err error) {
	unknown := g.st.takeTruth()
	maskOf(unknown.yes, r.n, func(i int) bool { return group[i] == 0 })
	rest := g.st.takeSubset(r, unknown.yes)
	defer g.st.drop(0, 1, 1)
	g.loadCarry(rest.rows)
	if err := g.load(rest.rows, s); err != nil {
		return false, err
	}
	found := a.found[:rest.rows.n]
	missed, err := g.table.find(&g.keys, found, g.table.limit)
	if err != nil {
		return false, err
	}
	if missed > 0 { // the table is full
		a.stop()
		return false, nil
	}
	for j, i := range rest.sel {
		group[i] = found[j]
		a.groups[a.index[i]] = found[j]
	}
	return true, nil
}

func (a *groupArray) stop() { *a = groupArray{off: true} }

// partCode says which code a part of a key has: an integer its distance from
// the least one, a string of bytes its number in a dictionary, both from 1 on.
// NULL has code 0.
type partCode struct {
	bits       uint        // of a code
	dictionary *dictionary // of bytes
	least      int64       // the integer that has code 1
	low, high  int64       // the range of those met, where bits are not 0
}

// of computes the codes of rows. Where it meets values that do not fit, it
// changes bits and least.
func (c *partCode) of(g *grouper, r *rows, key *keyPart, v *vector, code []uint32) error {
	if c.dictionary != nil {
		return c.ofBytes(g, r, key, v, code)
	}
	ints, null, err := g.ints(r, &key.value, v)
	if err != nil {
		return err
	}
	if c.bits == 0 || !c.write(ints, null, code) {
		c.extend(ints, null)
		c.write(ints, null, code)
	}
	return nil
}

// write writes the codes of integers, and says whether all have one.
func (c *partCode) write(ints []uint64, null []uint8, code []uint32) bool {
	most, least := uint64(0), uint64(c.least)
	if null == nil {
		code = code[:len(ints)]
		for i, x := range ints {
			x -= least
			most = max(most, x)
			code[i] = uint32(x) + 1
		}
	} else {
		for i, x := range ints {
			valid := uint64(null[i]) - 1
			x = (x - least) & valid
			most = max(most, x)
			code[i] = uint32((x + 1) & valid)
		}
	}
	return most < 1<<c.bits-1
}

// extend makes codes for integers that have none. Where the range has grown at
// one end, codes that are left are for that end.
func (c *partCode) extend(ints []uint64, null []uint8) {
	none := c.bits == 0
	low, high := c.low, c.high
	for i, x := range ints {
		x := int64(x)
		switch {
		case null != nil && null[i] != 0:
		case none:
			low, high, none = x, x, false
		default:
			low, high = min(low, x), max(high, x)
		}
	}
	if none {
		return
	}
	down := c.bits > 0 && low < c.low && high == c.high
	distance := uint64(high) - uint64(low)
	c.bits, c.least, c.low, c.high = arrayBits+1, low, low, high
	if distance >= 1<<arrayBits {
		return
	}
	c.bits = uint(bits.Len64(distance + 1))
	if down {
		c.least = int64(uint64(high) - (1<<c.bits - 2))
	}
}

// ofBytes computes the codes of bytes.
func (c *partCode) ofBytes(g *grouper, r *rows, key *keyPart, v *vector, code []uint32) error {
	d := c.dictionary
	if !key.raw || !d.codesOf(g, r, key, code) {
		spans := g.keys.ownSpans[key.span][:r.n]
		if err := g.bytes(r, key, v, spans); err != nil {
			return err
		}
		for i, b := range spans {
			if b == nil {
				code[i] = 0
			} else {
				code[i] = d.code(b)
			}
		}
	}
	if c.bits = uint(bits.Len(uint(len(d.values)))); d.full {
		c.bits = arrayBits + 1
	}
	return nil
}
