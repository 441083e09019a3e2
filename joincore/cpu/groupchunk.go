package cpu

import (
	"encoding/binary"

	"gpujoin/joincore"
)

// keyChunk holds the normalised keys of a chunk's rows.
type keyChunk struct {
	n     int
	words [][]uint64
	tags  []uint32 // of exact keys: which parts are NULL; nil: none is
	hash  []uint64
	spans [][][]byte // the bytes of each part that has some; of a NULL none
	carry [][]uint32 // row numbers

	ownWords [][]uint64
	ownTags  []uint32
	ownHash  []uint64
	ownSpans [][][]byte
	ownCarry [][]uint32
	wide     []byte // memory of spans

	todo, slot, absent []uint32 // scratch of lookups: rows, and entries
}

// argumentChunk holds an argument of a chunk's rows.
type argumentChunk struct {
	v     []uint64
	high  []uint64 // of 16 bytes; nil: all of this chunk fit 8
	spans [][]byte
	skip  []uint8 // 1: the row has no value; nil: all have one

	ownSpans [][]byte
	ownSkip  []uint8
	vector   *vector
}

func (k *keyChunk) init(p *groupPlan) {
	n := p.dev.chunk
	for range p.words {
		k.ownWords = append(k.ownWords, make([]uint64, n))
	}
	k.words = make([][]uint64, p.words)
	k.ownHash = make([]uint64, n)
	if p.exact {
		k.ownTags = make([]uint32, n)
	}
	for range p.spans {
		k.ownSpans = append(k.ownSpans, make([][]byte, n))
	}
	k.spans = make([][][]byte, p.spans)
	for range p.carry {
		k.ownCarry = append(k.ownCarry, make([]uint32, n))
	}
	k.carry = make([][]uint32, len(p.carry))
	k.todo, k.slot, k.absent = make([]uint32, n), make([]uint32, n), make([]uint32, n)
}

// use makes the chunk's own memory that of n rows.
func (k *keyChunk) use(n int) {
	k.n = n
	for i := range k.words {
		k.words[i] = k.ownWords[i][:n]
	}
	for i := range k.spans {
		k.spans[i] = k.ownSpans[i][:n]
	}
	k.tags = nil
}

// load normalises the keys of the rows of a source.
func (g *grouper) load(r *rows, s *source) error {
	k := &g.keys
	k.use(r.n)
	if len(s.keys) == 0 {
		return nil
	}
	if g.plan.exact {
		if err := g.loadExact(r, s.keys); err != nil {
			return err
		}
	} else if err := g.loadParts(r, s.keys); err != nil {
		return err
	}
	g.hash()
	return nil
}

func (g *grouper) loadExact(r *rows, keys []keyPart) error {
	k := &g.keys
	word := k.words[0]
	for i := range keys {
		part := &keys[i]
		v, null, err := g.ints(r, &part.value, g.vectors[i])
		if err != nil {
			return err
		}
		if null != nil {
			k.tag(null, i, v)
		}
		if len(keys) == 1 {
			k.words[0] = v
			break
		}
		mask := ^uint64(0) >> (64 - part.bits)
		if i == 0 {
			for j, x := range v {
				word[j] = x & mask
			}
			continue
		}
		for j, x := range v {
			word[j] |= x & mask << part.shift
		}
	}
	return nil
}

// tag notes the rows in which a part is NULL, and makes their values 0.
func (k *keyChunk) tag(null []uint8, part int, v []uint64) {
	if k.tags == nil {
		k.tags = k.ownTags[:k.n]
		clear(k.tags)
	}
	for i, x := range null {
		k.tags[i] |= uint32(x) << part
		v[i] &= uint64(x) - 1
	}
}

func (g *grouper) loadParts(r *rows, keys []keyPart) error {
	k := &g.keys
	for w := len(keys); w < len(k.words); w++ {
		clear(k.words[w])
	}
	for i := range keys {
		part, word := &keys[i], k.words[i]
		var null []uint8
		if part.span >= 0 {
			spans := k.spans[part.span]
			if err := g.bytes(r, part, g.vectors[i], spans); err != nil {
				return err
			}
			null = g.nulls[:r.n]
			any := uint8(0)
			for j, b := range spans {
				null[j] = 0
				if b == nil {
					null[j], any = 1, 1
				}
				word[j] = spanWord(b)
			}
			if any == 0 {
				null = nil
			}
		} else {
			v, isNull, err := g.ints(r, &part.value, g.vectors[i])
			if err != nil {
				return err
			}
			copy(word, v)
			null = isNull
		}
		if null != nil {
			mask := k.words[len(keys)+i/64]
			for j, x := range null {
				mask[j] |= uint64(x) << (i % 64)
				word[j] &= uint64(x) - 1
			}
		}
	}
	return nil
}

// spanWord returns bytes as a word: all of up to 8, else a hash.
func spanWord(b []byte) uint64 {
	if len(b) == 8 {
		return binary.LittleEndian.Uint64(b)
	}
	if len(b) > 8 {
		return joincore.HashBytes(0, b)
	}
	var w uint64
	for i, x := range b {
		w |= uint64(x) << (8 * i)
	}
	return w
}

// hash computes the hash of each key from its words.
func (g *grouper) hash() {
	k, seed := &g.keys, g.plan.dev.seed
	k.hash = k.ownHash[:k.n]
	if g.plan.exact {
		for i, w := range k.words[0] {
			k.hash[i] = mix(w ^ seed)
		}
		for i, t := range k.tags {
			k.hash[i] += uint64(t) * goldenRatio
		}
		return
	}
	for i := range k.hash {
		k.hash[i] = seed
	}
	for _, words := range k.words {
		for i, w := range words {
			k.hash[i] = joincore.HashWord(k.hash[i], w)
		}
	}
	if g.plan.dev.collide {
		for i := range k.hash {
			k.hash[i] &= 1
		}
	}
}

// noBytes is an empty value that is not NULL.
var noBytes = make([]byte, 0)

// bytes reads the bytes of a part of the keys; NULLs are nil.
func (g *grouper) bytes(r *rows, part *keyPart, v *vector, out [][]byte) error {
	if !part.raw {
		return g.computedBytes(r, &part.value, v, out)
	}
	c, s := r.locate(part.ref, g.st.dev.inputs)
	if c == nil {
		clear(out)
		return nil
	}
	if c.kind == joincore.Varlena {
		for i := range out {
			out[i] = nil
			if segment, row, ok := s.at(i); ok && c.valid(segment, row) {
				if out[i] = c.varlena(segment, row); out[i] == nil {
					out[i] = noBytes
				}
			}
		}
		return nil
	}
	words := c.width / 8
	for i := range out {
		out[i] = nil
		if segment, row, ok := s.at(i); ok && c.valid(segment, row) {
			out[i] = view[byte](c.v64[segment][int(row)*words : (int(row)+1)*words])
		}
	}
	return nil
}

// computedBytes reads a computed part: bytes, or an integer of 16 bytes.
func (g *grouper) computedBytes(r *rows, o *typedValue, v *vector, out [][]byte) error {
	if err := g.eval(r, o, v); err != nil {
		return err
	}
	if v.all {
		clear(out)
		return nil
	}
	if o.kind.Bytes {
		for i := range out {
			if out[i] = v.bytes[i]; out[i] == nil {
				out[i] = noBytes
			}
		}
	} else {
		if len(g.keys.wide) < 16*r.n {
			g.keys.wide = make([]byte, 16*g.plan.dev.chunk)
		}
		v.widen()
		for i := range out {
			b := g.keys.wide[16*i : 16*i+16 : 16*i+16]
			binary.LittleEndian.PutUint64(b, uint64(v.lo[i]))
			binary.LittleEndian.PutUint64(b[8:], uint64(v.hi[i]))
			out[i] = b
		}
	}
	for i, x := range v.isNull() {
		if x != 0 {
			out[i] = nil
		}
	}
	return nil
}

// loadCarry reads the row numbers of the inputs of carried columns.
func (g *grouper) loadCarry(r *rows) {
	for i, input := range g.plan.carry {
		ids := g.keys.ownCarry[i][:r.n]
		r.copyIDs(ids, input, 0, g.st.dev.inputs)
		g.keys.carry[i] = ids
	}
}
