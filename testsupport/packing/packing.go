// Package packing packs rows of a key and a row id for slow links between GPUs: what kernels
// that do so must return, bit for bit.
package packing

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
)

// ErrPacked is wrapped by errors about packed rows that cannot be unpacked.
var ErrPacked = errors.New("invalid packed rows")

// Coding says how rows of a key and a row id travel (MG-Join, section 5.1).
// Rows of one partition share some bits of the key: these are not sent. Ids are
// sent in blocks, less the least of the block, with as many bits as the largest
// difference has.
//
// A block is a header of 12 bytes, little endian: rows (2), bits of a key (1),
// bits of an id (1), the least id (8). All keys follow, then all ids, each part
// padded to whole bytes, the first row in the lowest bits.
type Coding struct {
	KeyBits    int // width of a key, at most 64
	IDBits     int // width of an id, at most 64
	SharedAt   int // lowest bit of the key that all rows of a partition share
	SharedBits int // how many they share
}

// blockBytes is the size of a block before packing; headerBytes is what each
// block costs.
const (
	blockBytes  = 8 << 10
	headerBytes = 12
)

func (c Coding) check() error {
	if c.KeyBits < 1 || c.KeyBits > 64 || c.IDBits < 1 || c.IDBits > 64 || c.SharedAt < 0 || c.SharedBits < 0 || c.SharedAt+c.SharedBits > c.KeyBits {
		return fmt.Errorf("%w: %+v", ErrPacked, c)
	}
	return nil
}

// BlockRows is how many rows a full block has.
func (c Coding) BlockRows() int { return blockBytes * 8 / (c.KeyBits + c.IDBits) }

// Pack appends rows to dst. Keys and ids must be as wide as the coding says and
// the keys must share what it says; the shared bits themselves are not needed.
func (c Coding) Pack(dst []byte, keys, ids []uint64) ([]byte, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	if len(keys) != len(ids) {
		return nil, fmt.Errorf("%w: %d keys, %d ids", ErrPacked, len(keys), len(ids))
	}
	for len(keys) > 0 {
		n := min(len(keys), c.BlockRows())
		dst = c.block(dst, keys[:n], ids[:n])
		keys, ids = keys[n:], ids[n:]
	}
	return dst, nil
}

func (c Coding) block(dst []byte, keys, ids []uint64) []byte {
	least, most := ids[0], ids[0]
	for _, id := range ids {
		least, most = min(least, id), max(most, id)
	}
	width := bits.Len64(most - least)
	dst = binary.LittleEndian.AppendUint16(dst, uint16(len(keys)))
	dst = append(dst, byte(c.KeyBits-c.SharedBits), byte(width))
	dst = binary.LittleEndian.AppendUint64(dst, least)
	w := bitWriter{dst: dst}
	for _, k := range keys {
		low := k & ones(c.SharedAt)
		high := k & ones(c.KeyBits) >> c.SharedAt >> c.SharedBits
		w.put(high<<c.SharedAt|low, c.KeyBits-c.SharedBits)
	}
	w.flush()
	for _, id := range ids {
		w.put(id-least, width)
	}
	w.flush()
	return w.dst
}

// Unpack appends the rows in src to keys and ids. shared is the value of the
// bits that the partition's keys share. It does not trust src.
func (c Coding) Unpack(src []byte, shared uint64, keys, ids []uint64) (k, i []uint64, err error) {
	if err := c.check(); err != nil {
		return nil, nil, err
	}
	if shared > ones(c.SharedBits) {
		return nil, nil, fmt.Errorf("%w: %#x in %d bits", ErrPacked, shared, c.SharedBits)
	}
	for len(src) > 0 {
		if len(src) < headerBytes {
			return nil, nil, fmt.Errorf("%w: %d bytes of a header", ErrPacked, len(src))
		}
		rows := int(binary.LittleEndian.Uint16(src))
		keyBits, idBits := int(src[2]), int(src[3])
		least := binary.LittleEndian.Uint64(src[4:])
		if rows == 0 || rows > c.BlockRows() || keyBits != c.KeyBits-c.SharedBits || idBits > c.IDBits ||
			least > ones(c.IDBits) || ones(idBits) > ones(c.IDBits) {
			return nil, nil, fmt.Errorf("%w: %d rows of %d and %d bits from %d", ErrPacked, rows, keyBits, idBits, least)
		}
		src = src[headerBytes:]
		keyBytes, idBytes := (rows*keyBits+7)/8, (rows*idBits+7)/8
		if len(src) < keyBytes+idBytes {
			return nil, nil, fmt.Errorf("%w: %d bytes for %d rows", ErrPacked, len(src), rows)
		}
		r := bitReader{src: src[:keyBytes]}
		for range rows {
			x := r.take(keyBits)
			high := x >> c.SharedAt
			keys = append(keys, high<<c.SharedAt<<c.SharedBits|shared<<c.SharedAt|x&ones(c.SharedAt))
		}
		r = bitReader{src: src[keyBytes : keyBytes+idBytes]}
		for range rows {
			id := least + r.take(idBits)
			if id < least || id > ones(c.IDBits) {
				return nil, nil, fmt.Errorf("%w: an id of more than %d bits", ErrPacked, c.IDBits)
			}
			ids = append(ids, id)
		}
		src = src[keyBytes+idBytes:]
	}
	return keys, ids, nil
}

// Pays says whether packing saves time: the bytes saved on a link of some
// bandwidth against the time to pack at the source and to unpack at the
// destination. All rates are in GB/s of bytes before packing.
func Pays(raw, wire int64, link, pack, unpack float64) bool {
	return float64(raw-wire)/link > float64(raw)/pack+float64(raw)/unpack
}

// ones is a mask of the lowest n bits.
func ones(n int) uint64 {
	if n >= 64 {
		return ^uint64(0)
	}
	return 1<<n - 1
}

// bitWriter appends values of some bits each.
type bitWriter struct {
	dst  []byte
	word byte
	used int // bits of word
}

func (w *bitWriter) put(x uint64, width int) {
	for width > 0 {
		n := min(width, 8-w.used)
		w.word |= byte(x&ones(n)) << w.used
		x, width = x>>n, width-n
		if w.used += n; w.used == 8 {
			w.dst, w.word, w.used = append(w.dst, w.word), 0, 0
		}
	}
}

// flush ends the last byte.
func (w *bitWriter) flush() {
	if w.used > 0 {
		w.dst, w.word, w.used = append(w.dst, w.word), 0, 0
	}
}

// bitReader takes such values back. The caller knows that there are enough.
type bitReader struct {
	src []byte
	bit int
}

func (r *bitReader) take(width int) uint64 {
	var x uint64
	for have := 0; have < width; {
		n := min(width-have, 8-r.bit%8)
		x |= uint64(r.src[r.bit/8]>>(r.bit%8)) & ones(n) << have
		r.bit += n
		have += n
	}
	return x
}
