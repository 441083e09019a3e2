// Package filter makes filters of the keys of an input, in the form of
// shm/layout.h. Feeds of other inputs drop the rows whose keys they lack.
package filter

import (
	"encoding/binary"
	"errors"
	"math"

	"gpujoin/joincore"
	"gpujoin/shm"
)

// Errors of Make.
var (
	ErrTooManyKeys = errors.New("the keys are too many for an extent")
	ErrStopped     = errors.New("the job has ended")
	ErrMalformed   = errors.New("the header of a key contradicts its length")
)

const (
	// bitsPerKey makes about 1 % of the keys that are not in a Bloom filter pass.
	bitsPerKey = 16
	// leastBits lets about one in eight pass, and is still worth its memory.
	leastBits = 6
	// A bitmap is exact, so it is preferred while it is at most this large, in
	// bytes, or this many times as large as the Bloom filter.
	smallBitmap  = 64 << 10
	bitmapFactor = 16
)

// Make writes a filter into extent: the keys in a column of r. It calls stopped
// once per segment and ends with ErrStopped if that returns true. A peer may
// change the values meanwhile, which changes only what the filter contains.
func Make(extent []byte, r *joincore.Relation, column int, seed uint64, stopped func() bool) (shm.FilterHeader, error) {
	m := maker{data: extent[shm.FilterDataOff:], r: r, column: column, seed: seed, stopped: stopped}
	m.h.Magic, m.h.Version = shm.FilterMagic, shm.LayoutVersion
	of := m.ofIntegers
	if c := r.Columns[column]; c.Kind == joincore.Varlena || c.Width > 8 {
		of = m.ofBytes
	}
	err := of()
	if err == nil {
		shm.Append(extent[:0], &m.h)
	}
	return m.h, err
}

// maker makes one filter.
type maker struct {
	h       shm.FilterHeader
	data    []byte // room for it
	r       *joincore.Relation
	column  int
	seed    uint64
	stopped func() bool
}

// scan calls visit for each segment.
func (m *maker) scan(visit func(*joincore.Segment) error) error {
	for i := range m.r.Segments {
		if m.stopped() {
			return ErrStopped
		}
		if err := visit(&m.r.Segments[i]); err != nil {
			return err
		}
	}
	return nil
}

// ofIntegers makes a filter of a Fixed column of 1, 2, 4 or 8 bytes.
func (m *maker) ofIntegers() error {
	h := &m.h
	h.Kind = uint16(shm.FilterBitmap)
	scan := func(visit func(int64)) error {
		return m.scan(func(s *joincore.Segment) error {
			visitKeys(s, m.column, m.r.Columns[m.column].Width, visit)
			return nil
		})
	}
	low, high := int64(math.MaxInt64), int64(math.MinInt64)
	err := scan(func(key int64) { h.Keys, low, high = h.Keys+1, min(low, key), max(high, key) })
	if err != nil || h.Keys == 0 {
		return err
	}
	h.Min, h.Max = low, high
	kind, bytes, err := choose(h.Keys, uint64(high)-uint64(low), uint64(len(m.data)))
	if err != nil {
		return err
	}
	h.Kind, h.Bytes = uint16(kind), uint32(bytes)
	data := m.data[:bytes]
	clear(data)
	if kind == shm.FilterBloom {
		h.Seed = m.seed
		return scan(func(key int64) { addToBloom(data, key, m.seed) })
	}
	return scan(func(key int64) {
		if at := uint64(key) - uint64(low); at < bytes*8 {
			data[at/8] |= 1 << (at % 8)
		}
	})
}

// ofBytes makes a filter of a Varlena column, or a Fixed one of more than 8
// bytes. Hashing a key takes longer than counting it, so the first pass only
// counts.
func (m *maker) ofBytes() error {
	h := &m.h
	h.Kind = uint16(shm.FilterBloomBytes)
	err := m.scan(func(s *joincore.Segment) error {
		h.Keys += present(s, m.column)
		return nil
	})
	if err != nil || h.Keys == 0 {
		return err
	}
	bytes, err := bloomBytes(h.Keys, uint64(len(m.data)))
	if err != nil {
		return err
	}
	data := m.data[:bytes]
	clear(data)
	low, high := int64(math.MaxInt64), int64(math.MinInt64)
	add := func(value []byte) {
		key := shm.HashBytes(value)
		low, high = min(low, key), max(high, key)
		addToBloom(data, key, m.seed)
	}
	err = m.scan(func(s *joincore.Segment) error { return visitBytes(s, m.column, m.r.Columns[m.column], add) })
	if err != nil {
		return err
	}
	if low > high { // a peer has removed the keys since they were counted
		h.Keys = 0
		return nil
	}
	h.Min, h.Max, h.Seed, h.Bytes = low, high, m.seed, uint32(bytes)
	return nil
}

// addToBloom adds a key to a Bloom filter.
func addToBloom(data []byte, key int64, seed uint64) {
	block, bits := shm.BloomPlace(key, seed, uint64(len(data)/8))
	word := data[8*block:]
	binary.LittleEndian.PutUint64(word, binary.LittleEndian.Uint64(word)|bits)
}

// choose returns the kind and the bytes of a filter for that many keys, the
// greatest of which exceeds the least by span, in an extent with room for the
// given number of bytes.
func choose(keys, span, room uint64) (shm.FilterKind, uint64, error) {
	room = min(room, math.MaxUint32) / 8 * 8
	bitmap := span/64*8 + 8 // at most 2^61
	if bitmap <= room && (bitmap <= smallBitmap || bitmap/bitmapFactor <= wanted(keys)) {
		return shm.FilterBitmap, bitmap, nil
	}
	bytes, err := bloomBytes(keys, room)
	if err != nil {
		return shm.FilterNone, 0, err
	}
	return shm.FilterBloom, bytes, nil
}

// wanted returns the bytes that a Bloom filter should have.
func wanted(keys uint64) uint64 {
	if keys >= math.MaxUint64/bitsPerKey {
		return math.MaxUint64
	}
	return (keys*bitsPerKey + 63) / 64 * 8
}

// bloomBytes returns the bytes of a Bloom filter for that many keys in that room.
func bloomBytes(keys, room uint64) (uint64, error) {
	room = min(room, math.MaxUint32) / 8 * 8
	bytes := wanted(keys)
	if bytes > room {
		if room*8/leastBits < keys {
			return 0, ErrTooManyKeys
		}
		bytes = room
	}
	return bytes, nil
}

// visitKeys calls visit for each value of a column that is not NULL.
func visitKeys(s *joincore.Segment, column, width int, visit func(int64)) {
	v := &s.Columns[column]
	read := func(row int) int64 { return int64(binary.LittleEndian.Uint64(v.Values[8*row:])) }
	switch width {
	case 1:
		read = func(row int) int64 { return int64(int8(v.Values[row])) }
	case 2:
		read = func(row int) int64 { return int64(int16(binary.LittleEndian.Uint16(v.Values[2*row:]))) }
	case 4:
		read = func(row int) int64 { return int64(int32(binary.LittleEndian.Uint32(v.Values[4*row:]))) }
	}
	for row := range s.Rows {
		if !v.Null(row) {
			visit(read(row))
		}
	}
}

// present returns how many values of a column are not NULL.
func present(s *joincore.Segment, column int) (n uint64) {
	v := &s.Columns[column]
	if v.Validity == nil {
		return uint64(s.Rows)
	}
	for row := range s.Rows {
		if !v.Null(row) {
			n++
		}
	}
	return n
}

// visitBytes calls visit for the bytes of each value of a column that is not
// NULL.
func visitBytes(s *joincore.Segment, column int, c joincore.Column, visit func([]byte)) error {
	v := &s.Columns[column]
	for row := range s.Rows {
		if v.Null(row) {
			continue
		}
		if c.Kind == joincore.Fixed {
			visit(v.Values[row*c.Width:][:c.Width])
			continue
		}
		value, err := joincore.TextPayload(v.Variable(row))
		if err != nil {
			return ErrMalformed
		}
		visit(value)
	}
	return nil
}
