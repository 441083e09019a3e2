package cpu

import (
	"bytes"
	"encoding/binary"
	"math/bits"

	"gpujoin/joincore"
)

// dictionary numbers strings of bytes from 1, in the order in which it meets
// them.
type dictionary struct {
	slots  []dictionarySlot // linear probing
	shift  uint
	values [][]byte // copies; of code 1 first
	any    bool     // it takes any number of strings of any length
	full   bool     // it did not take a string: there are too many, or too long ones
}

// If it does not take any, a dictionary has up to dictionaryValues strings of up to dictionaryBytes
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

// wholeEnds is up to how many bytes of a string its first and last words and its length are
// all there is to know.
const wholeEnds = 16

// ends returns the first and the last word of b.
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

// codesOf writes the codes of a column's bytes. It returns false where some are NULL or the
// rows are in several segments.
func (d *dictionary) codesOf(g *grouper, r *rows, key *keyPart, code []uint32) bool {
	c, s := r.locate(key.ref, g.st.dev.inputs)
	if c == nil || c.kind != joincore.Varlena || c.nullable() {
		return false
	}
	begin, end, heap := g.st.spansOf(c, s, 0, r.n)
	if heap == nil {
		return false
	}
	end, code = end[:len(begin)], code[:len(begin)]
	slots, shift := d.slots, d.shift
	for i, from := range begin {
		// a text of a few characters has one word of four bytes with its header
		if to := end[i]; to-from == 4 && int(to) <= len(heap) {
			word := uint64(binary.LittleEndian.Uint32(heap[from:]))
			if e := &slots[endsHash(word, word)>>(shift&63)]; e.first == word && e.length == 4 {
				code[i] = e.code
				continue
			}
		}
		code[i] = d.code(joincore.HeapSpan(heap, from, end[i]))
		slots, shift = d.slots, d.shift // it may have grown
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
		case s.first == first && s.last == last && int(s.length) == len(b) && (len(b) <= wholeEnds || bytes.Equal(b, d.values[s.code-1])):
			return s.code
		}
	}
}

// has reports whether b has a number.
func (d *dictionary) has(b []byte) bool {
	first, last := ends(b)
	mask := uint64(len(d.slots) - 1)
	for at := endsHash(first, last) >> d.shift; ; at++ {
		s := &d.slots[at&mask]
		if s.code == 0 {
			return false
		}
		if s.first == first && s.last == last && int(s.length) == len(b) && (len(b) <= wholeEnds || bytes.Equal(b, d.values[s.code-1])) {
			return true
		}
	}
}

func (d *dictionary) add(s *dictionarySlot, first, last uint64, b []byte) uint32 {
	if d.full = d.full || !d.any && (len(d.values) == dictionaryValues || len(b) > dictionaryBytes); d.full {
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
