package encode

import (
	"bytes"
	"fmt"
	"hash/maphash"
	"sync/atomic"

	"gpujoin/joincore"
)

// limits bound the values of all dictionaries of an execution together.
type limits struct {
	values atomic.Int64
	memory *memory
}

// A value that occurs in the parts of several workers counts for each of them. More
// different values than that take cores as long as grouping by them.
const mostValues = 1 << 22

var errTooMany = fmt.Errorf("more than %d different texts as group keys: %w", mostValues, joincore.ErrUnsupported)

// dictionary numbers strings of bytes from 0, in the order in which it meets them.
type dictionary struct {
	limits *limits
	seed   maphash.Seed
	slots  []slot // linear probing; a power of two, at most half of them used
	values [][]byte
	block  []byte // unused memory for values
}

// slot is one string.
type slot struct {
	hash uint32
	code uint32 // from 1; 0: empty
}

const firstSlots = 256

func newDictionary(l *limits, seed maphash.Seed) *dictionary {
	return &dictionary{limits: l, seed: seed, slots: make([]slot, firstSlots)}
}

// code returns the number of b, and adds a copy where it is new.
func (d *dictionary) code(b []byte) (uint32, error) {
	hash := uint32(maphash.Bytes(d.seed, b) >> 32)
	mask := uint32(len(d.slots) - 1)
	for at := hash & mask; ; at = (at + 1) & mask {
		s := &d.slots[at]
		if s.code == 0 {
			break
		}
		if s.hash == hash && bytes.Equal(d.values[s.code-1], b) {
			return s.code - 1, nil
		}
	}
	return d.add(hash, b)
}

func (d *dictionary) add(hash uint32, b []byte) (uint32, error) {
	if d.limits.values.Add(1) > mostValues {
		return 0, errTooMany
	}
	kept, err := d.keep(b)
	if err != nil {
		return 0, err
	}
	if 2*(len(d.values)+1) > len(d.slots) {
		d.grow()
	}
	code := uint32(len(d.values))
	d.values = append(d.values, kept)
	d.enter(hash, code+1)
	return code, nil
}

// blockBytes is how much memory a dictionary takes at a time.
const blockBytes = 1 << 18

// keep copies b to memory of the job.
func (d *dictionary) keep(b []byte) ([]byte, error) {
	if len(d.block) < len(b) {
		block, err := d.limits.memory.alloc(max(blockBytes, len(b)))
		if err != nil {
			return nil, err
		}
		d.block = block
	}
	n := copy(d.block, b)
	kept := d.block[:n:n]
	d.block = d.block[n:]
	return kept, nil
}

func (d *dictionary) enter(hash, code uint32) {
	mask := uint32(len(d.slots) - 1)
	at := hash & mask
	for d.slots[at].code != 0 {
		at = (at + 1) & mask
	}
	d.slots[at] = slot{hash, code}
}

func (d *dictionary) grow() {
	old := d.slots
	d.slots = make([]slot, 2*len(old))
	for _, s := range old {
		if s.code != 0 {
			d.enter(s.hash, s.code)
		}
	}
}

// merge returns the numbers in d of all values of other, by their numbers there.
func (d *dictionary) merge(other *dictionary) ([]uint32, error) {
	codes := make([]uint32, len(other.values))
	for i, b := range other.values {
		var err error
		if codes[i], err = d.code(b); err != nil {
			return nil, err
		}
	}
	return codes, nil
}
