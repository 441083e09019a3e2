package cpu

import (
	"gpujoin/joincore"
	"gpujoin/joincore/device"
)

// keyer normalises the keys of a chunk to 64 bits and separates rows with NULL keys.
type keyer struct {
	st  *stream
	sel []uint32
}

func (k *keyer) init(st *stream) { *k = keyer{st: st, sel: make([]uint32, st.dev.chunk)} }

// compute returns the keys of the rows whose key is not NULL. sel holds their
// numbers in the chunk; nil means all rows. The caller must write to neither. keys
// lie in the input, where others may change them, or are scratch of the stream, valid
// until the stream is used again; sel is valid until the next call.
func (k *keyer) compute(r *rows, key *device.Key, inputs []*space) (keys []uint64, sel []uint32) {
	if keys, sel, ok := k.stored(r, key); ok {
		return keys, sel
	}
	if keys := k.inPlace(r, key, inputs); keys != nil {
		return keys, nil
	}
	keys = k.st.first[:r.n]
	nulls := k.st.null[:r.n]
	clear(nulls)
	any := false
	if len(key.Parts) != 1 || !key.Exact {
		start := k.st.dev.seed
		if key.Exact {
			start = 0
		}
		for i := range keys {
			keys[i] = start
		}
	}
	shift := uint(0)
	for i := range key.Parts {
		p := &key.Parts[i]
		c, s := r.locate(p.Column, inputs)
		if c == nil {
			return keys[:0], k.sel[:0]
		}
		any = fetchNulls(nulls, c, s) || any
		switch {
		case !key.Exact:
			k.hash(keys, p, c, s)
		case len(key.Parts) == 1:
			k.st.fetchInts(keys, c, s)
		default:
			part := k.st.second[:r.n]
			k.st.fetchInts(part, c, s)
			mask := ^uint64(0) >> (64 - uint(p.Bits))
			for i, v := range part {
				keys[i] |= v & mask << shift
			}
			shift += uint(p.Bits)
		}
	}
	if k.st.dev.collide && !key.Exact {
		for i := range keys {
			keys[i] &= 1
		}
	}
	if !any {
		return keys, nil
	}
	return k.compact(keys, nulls)
}

// inPlace returns keys that are the values of a column as they lie in memory; nil: they are not.
func (k *keyer) inPlace(r *rows, key *device.Key, inputs []*space) []uint64 {
	if len(key.Parts) != 1 || !key.Exact {
		return nil
	}
	c, s := r.locate(key.Parts[0].Column, inputs)
	return c.inPlace(s, r.n)
}

// compact drops the keys that are NULL.
func (k *keyer) compact(keys []uint64, null []uint8) ([]uint64, []uint32) {
	m := 0
	for i, key := range keys {
		keys[m] = key
		k.sel[m] = uint32(i)
		m += int(null[i] ^ 1)
	}
	return keys[:m], k.sel[:m]
}

// stored returns the normalised keys if a space of the chunk has them already.
func (k *keyer) stored(r *rows, key *device.Key) ([]uint64, []uint32, bool) {
	for i := range r.slots {
		s := &r.slots[i]
		if s.space.key != key || s.null {
			continue
		}
		if s.space.keyNull == nil && s.pos == nil {
			from := int(s.first & s.space.mask())
			return s.space.keys.v64[s.segment()][from : from+r.n], nil, true
		}
		keys := k.st.first[:r.n]
		fetch(keys, s.space.keys.v64, s, 0)
		if s.space.keyNull == nil {
			return keys, nil, true
		}
		nulls := k.st.null[:r.n]
		fetch(nulls, s.space.keyNull.v8, s, 1)
		keys, sel := k.compact(keys, nulls)
		return keys, sel, true
	}
	return nil, nil, false
}

// hash folds one part into the keys.
func (k *keyer) hash(keys []uint64, p *device.KeyPart, c *column, s *slot) {
	switch {
	case p.Class == joincore.KeyVarlena:
		for i := range keys {
			if segment, row, ok := s.at(i); ok {
				keys[i] = joincore.HashBytes(keys[i], c.varlena(segment, row))
			}
		}
	case c.width <= 8:
		part := k.st.second[:len(keys)]
		k.st.fetchInts(part, c, s)
		for i, v := range part {
			keys[i] = joincore.HashWord(keys[i], v)
		}
	default:
		words := c.width / 8
		for i := range keys {
			segment, row, ok := s.at(i)
			if !ok {
				continue
			}
			for _, w := range c.v64[segment][int(row)*words : (int(row)+1)*words] {
				keys[i] = joincore.HashWord(keys[i], w)
			}
		}
	}
}

// mix is a bijection of 64 bits whose upper bits depend on all bits of its
// argument. Radix partitions use the highest bits and the tables of a join the bits
// below, so the two are independent.
func mix(x uint64) uint64 {
	x ^= x >> 32
	x *= 0x9fb21c651e98df25
	x ^= x >> 29
	x *= 0xd6e8feb86659fd93
	return x
}
