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
