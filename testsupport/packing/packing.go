// Package packing compresses rows for slow links between GPUs (MG-Join, section 5.1), one after
// the other on the host: what the kernels of joincore/cuda/kernels/layout/compress.h, which has the
// format, must return bit for bit.
package packing

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
)

// ErrPacked is wrapped by errors about rows that cannot be packed or unpacked.
var ErrPacked = errors.New("invalid packed rows")

// Coding says how rows of words of 4 bytes travel: the words of the key first.
type Coding struct {
	KeyWords   int    // 1 or 2
	Words      int    // of a row, with those of the key
	SharedBits int    // of the hash, which number the partition that all rows are of; at most 32
	Seed       uint64 // of the hash
}

// ChunkRows is the most rows of a chunk.
const ChunkRows = 1024

const (
	unit      = 16 // bytes, to a multiple of which chunks are padded
	mostWords = 514
)

// Forms of keys in a chunk.
const (
	raw = iota
	less
	hashed
)

func (c Coding) check() error {
	if c.KeyWords < 1 || c.KeyWords > 2 || c.Words < c.KeyWords || c.Words > mostWords || c.SharedBits < 0 || c.SharedBits > 32 {
		return fmt.Errorf("%w: %+v", ErrPacked, c)
	}
	return nil
}

// keyBits is the width of a key.
func (c Coding) keyBits() int { return 32 * c.KeyWords }

// columns are the key and the other words of a row.
func (c Coding) columns() int { return 1 + c.Words - c.KeyWords }

// value returns a column of a row as a signed number.
func (c Coding) value(row []uint32, column int) int64 {
	switch {
	case column > 0:
		return int64(int32(row[c.KeyWords-1+column]))
	case c.KeyWords == 1:
		return int64(int32(row[0]))
	}
	return int64(uint64(row[1])<<32 | uint64(row[0]))
}

// Pack appends a chunk of rows, at most ChunkRows, to dst.
func (c Coding) Pack(dst []byte, rows []uint32) ([]byte, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	n := len(rows) / c.Words
	if n < 1 || n > ChunkRows || len(rows) != n*c.Words {
		return nil, fmt.Errorf("%w: %d words in rows of %d", ErrPacked, len(rows), c.Words)
	}
	row := func(i int) []uint32 { return rows[i*c.Words:][:c.Words] }
	least, width := make([]int64, c.columns()), make([]int, c.columns())
	for k := range least {
		low, high := c.value(row(0), k), c.value(row(0), k)
		for i := range n {
			low, high = min(low, c.value(row(i), k)), max(high, c.value(row(i), k))
		}
		least[k], width[k] = low, bits.Len64(uint64(high)-uint64(low))
	}
	form := less
	if all := c.keyBits() - c.SharedBits; all < width[0] {
		form, width[0], least[0] = hashed, all, 0
	}
	w := wordWriter{words: []uint32{uint32(n | form<<16 | width[0]<<24)}}
	for q := range c.KeyWords {
		w.words = append(w.words, uint32(uint64(least[0])>>(32*q)))
	}
	for _, l := range least[1:] {
		w.words = append(w.words, uint32(l))
	}
	for _, b := range width[1:] {
		w.put(uint64(b), 8)
	}
	w.flush()
	for k := range least {
		for i := range n {
			v := uint64(c.value(row(i), k)) - uint64(least[k])
			if k == 0 && form == hashed {
				v = c.hash(v)
			}
			w.put(v&ones(width[k]), width[k])
		}
		w.flush()
	}
	if len(w.words) >= 1+len(rows) {
		w.words = []uint32{uint32(n | raw<<16)}
		for q := range c.Words {
			for i := range n {
				w.words = append(w.words, row(i)[q])
			}
		}
	}
	for len(w.words)%(unit/4) != 0 {
		w.words = append(w.words, 0)
	}
	for _, x := range w.words {
		dst = binary.LittleEndian.AppendUint32(dst, x)
	}
	return dst, nil
}

// Unpack appends the rows of the chunk at the begin of src to rows, and returns what is behind
// it. All rows are of the given partition. It does not trust src.
func (c Coding) Unpack(src []byte, partition uint32, rows []uint32) (all []uint32, left []byte, err error) {
	if err := c.check(); err != nil {
		return nil, nil, err
	}
	if uint64(partition) > ones(c.SharedBits) {
		return nil, nil, fmt.Errorf("%w: partition %d of %d bits", ErrPacked, partition, c.SharedBits)
	}
	r := wordReader{src: src}
	head := r.word()
	n, form, width := int(head&0xffff), int(head>>16&0xff), []int{int(head >> 24)}
	if n < 1 || n > ChunkRows || form > hashed || width[0] > c.keyBits() || form == hashed && width[0] != c.keyBits()-c.SharedBits {
		return nil, nil, fmt.Errorf("%w: a chunk that begins with %#x", ErrPacked, head)
	}
	first := len(rows)
	rows = append(rows, make([]uint32, n*c.Words)...)
	row := func(i int) []uint32 { return rows[first+i*c.Words:][:c.Words] }
	if form == raw {
		for q := range c.Words {
			for i := range n {
				row(i)[q] = r.word()
			}
		}
		return c.ended(rows, r)
	}
	least := []uint64{0}
	for q := range c.KeyWords {
		least[0] |= uint64(r.word()) << (32 * q)
	}
	for range c.columns() - 1 {
		least = append(least, uint64(r.word()))
	}
	for range c.columns() - 1 {
		b := int(r.take(8))
		if b > 32 {
			return nil, nil, fmt.Errorf("%w: words of %d bits", ErrPacked, b)
		}
		width = append(width, b)
	}
	r.flush()
	for k := range least {
		for i := range n {
			v := r.take(width[k])
			switch {
			case k > 0:
				row(i)[c.KeyWords-1+k] = uint32(least[k] + v)
				continue
			case form == hashed:
				v = c.unhash(uint64(partition)<<width[0] | v)
			default:
				v += least[0]
			}
			for q := range c.KeyWords {
				row(i)[q] = uint32(v >> (32 * q))
			}
		}
		r.flush()
	}
	return c.ended(rows, r)
}

// ended skips the padding behind a chunk.
func (c Coding) ended(rows []uint32, r wordReader) ([]uint32, []byte, error) {
	for r.read%unit != 0 {
		r.word()
	}
	if r.short {
		return nil, nil, fmt.Errorf("%w: %d bytes", ErrPacked, len(r.src)+r.read)
	}
	return rows, r.src, nil
}

// ones is a mask of the lowest n bits.
func ones(n int) uint64 {
	if n >= 64 {
		return ^uint64(0)
	}
	return 1<<n - 1
}

// wordWriter appends values of some bits each to words.
type wordWriter struct {
	words []uint32
	bits  int // of the last word that are free
}

func (w *wordWriter) put(v uint64, width int) {
	for width > 0 {
		if w.bits == 0 {
			w.words, w.bits = append(w.words, 0), 32
		}
		n := min(width, w.bits)
		w.words[len(w.words)-1] |= uint32(v&ones(n)) << (32 - w.bits)
		v, width, w.bits = v>>n, width-n, w.bits-n
	}
}

// flush ends the last word.
func (w *wordWriter) flush() { w.bits = 0 }

// wordReader takes such values back. Behind the end it returns 0.
type wordReader struct {
	src   []byte
	read  int // bytes
	last  uint32
	bits  int // of the last word that are left
	short bool
}

func (r *wordReader) word() uint32 {
	if len(r.src) < 4 {
		r.short, r.src = true, nil
		r.read += 4
		return 0
	}
	x := binary.LittleEndian.Uint32(r.src)
	r.src, r.read = r.src[4:], r.read+4
	return x
}

func (r *wordReader) take(width int) (v uint64) {
	for have := 0; have < width; {
		if r.bits == 0 {
			r.last, r.bits = r.word(), 32
		}
		n := min(width-have, r.bits)
		v |= uint64(r.last) & ones(n) << have
		r.last = uint32(uint64(r.last) >> n)
		r.bits, have = r.bits-n, have+n
	}
	return v
}

// flush skips the rest of the last word.
func (r *wordReader) flush() { r.bits = 0 }
