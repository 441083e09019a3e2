package cpu

import (
	"bytes"
	"encoding/binary"
	"math/bits"

	"gpujoin/joincore"
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
	unknown            []uint8
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
		codes: make([]partCode, len(p.keys)), unknown: make([]uint8, n),
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
	unknown := a.unknown[:r.n]
	for i, x := range group {
		unknown[i] = bit(x == 0)
	}
	rest := g.st.takeSubset(r, unknown, 1<<1)
	defer g.st.drop(0, 0, 1)
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

// dictionary numbers strings of bytes from 1, in the order in which it meets
// them.
type dictionary struct {
	slots  []dictionarySlot // linear probing
	shift  uint
	values [][]byte // copies; of code 1 first
	full   bool     // it did not take a string: there are too many, or too long ones
}

// A dictionary has up to dictionaryValues strings of up to dictionaryBytes
// each.
const (
	dictionaryValues = 1 << 12
	dictionaryBytes  = 64
)

// dictionarySlot is one string. Together, its length and its first and last
// words are all of a string of up to 16 bytes.
type dictionarySlot struct {
	first, last uint64
	length      uint32
	code        uint32 // 0: empty
}

const firstDictionarySlots = 64

func newDictionary() *dictionary {
	d := &dictionary{}
	d.resize(firstDictionarySlots)
	return d
}

// ends returns the first and the last word of b, which of up to 16 bytes and
// with their number are all there is to know.
func ends(b []byte) (first, last uint64) {
	switch n := len(b); {
	case n >= 8:
		return binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[n-8:])
	case n >= 4:
		return uint64(binary.LittleEndian.Uint32(b)), uint64(binary.LittleEndian.Uint32(b[n-4:]))
	case n > 0:
		return uint64(b[0]) | uint64(b[n/2])<<8 | uint64(b[n-1])<<16, 0
	}
	return 0, 0
}

// endsHash is the hash that chooses a slot.
func endsHash(first, last uint64) uint64 {
	return (first ^ bits.RotateLeft64(last, 32)*0x9fb21c651e98df25) * 0x9e3779b97f4a7c15
}

// codesOf writes the codes of a column's bytes. It returns false where the rows
// are not next to each other.
func (d *dictionary) codesOf(g *grouper, r *rows, key *keyPart, code []uint32) bool {
	c, s := r.locate(key.ref, g.st.dev.inputs)
	if c == nil || c.kind != joincore.Varlena || c.nullable() || s.pos != nil {
		return false
	}
	segment, first := s.segment(), int(s.first&s.space.mask())
	offsets, heap := c.v32[segment][first:first+r.n+1], c.heap[segment]
	from := offsets[0]
	for i, to := range offsets[1:] {
		end := min(uint64(to), uint64(len(heap)))
		b := heap[min(uint64(from), end):end]
		from = to
		// a text of a few characters has one or two words of four bytes with its header
		switch len(b) {
		case 4:
			word := uint64(binary.LittleEndian.Uint32(b))
			e := &d.slots[endsHash(word, word)>>d.shift]
			if e.first == word && e.length == 4 {
				code[i] = e.code
				continue
			}
		case 8:
			word := binary.LittleEndian.Uint64(b)
			e := &d.slots[endsHash(word, word)>>d.shift]
			if e.first == word && e.length == 8 {
				code[i] = e.code
				continue
			}
		}
		code[i] = d.code(b)
	}
	return true
}

// code returns the number of b, and adds it where it is new. Of a full
// dictionary, it means nothing.
func (d *dictionary) code(b []byte) uint32 {
	first, last := ends(b)
	mask := uint64(len(d.slots) - 1)
	for at := endsHash(first, last) >> d.shift; ; at++ {
		s := &d.slots[at&mask]
		switch {
		case s.code == 0:
			return d.add(s, first, last, b)
		case s.first == first && s.last == last && int(s.length) == len(b) && (len(b) <= 16 || bytes.Equal(b, d.values[s.code-1])):
			return s.code
		}
	}
}

func (d *dictionary) add(s *dictionarySlot, first, last uint64, b []byte) uint32 {
	if d.full = d.full || len(d.values) == dictionaryValues || len(b) > dictionaryBytes; d.full {
		return 0
	}
	d.values = append(d.values, bytes.Clone(b))
	code := uint32(len(d.values))
	*s = dictionarySlot{first: first, last: last, length: uint32(len(b)), code: code}
	if 2*len(d.values) > len(d.slots) {
		d.resize(2 * len(d.slots))
	}
	return code
}

func (d *dictionary) resize(n int) {
	d.slots = make([]dictionarySlot, n)
	d.shift = 64 - uint(bits.TrailingZeros(uint(n)))
	for i, b := range d.values {
		first, last := ends(b)
		at := endsHash(first, last) >> d.shift
		for d.slots[at&uint64(n-1)].code != 0 {
			at++
		}
		d.slots[at&uint64(n-1)] = dictionarySlot{first: first, last: last, length: uint32(len(b)), code: uint32(i + 1)}
	}
}
