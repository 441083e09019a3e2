package filter

import (
	"math"

	"gpujoin/joincore"
	"gpujoin/shm"
)

// ofBytes makes a filter of a Varlena column, or a Fixed one of more than 8
// bytes. Hashing a key takes longer than counting it, so the first pass only
// counts.
func ofBytes(extent []byte, r *joincore.Relation, column int, seed uint64, stopped func() bool) (shm.FilterHeader, error) {
	h := shm.FilterHeader{Magic: shm.FilterMagic, Version: shm.LayoutVersion, Kind: uint16(shm.FilterBloomBytes)}
	for i := range r.Segments {
		if stopped() {
			return h, ErrStopped
		}
		h.Keys += present(&r.Segments[i], column)
	}
	if h.Keys == 0 {
		shm.Append(extent[:0], &h)
		return h, nil
	}
	bytes, err := bloomBytes(h.Keys, uint64(len(extent)-shm.FilterDataOff))
	if err != nil {
		return h, err
	}
	data := extent[shm.FilterDataOff:][:bytes]
	clear(data)
	h.Min, h.Max = math.MaxInt64, math.MinInt64
	add := func(value []byte) {
		key := shm.HashBytes(value)
		h.Min, h.Max = min(h.Min, key), max(h.Max, key)
		addToBloom(data, key, seed)
	}
	for i := range r.Segments {
		if stopped() {
			return h, ErrStopped
		}
		if err := visitBytes(&r.Segments[i], column, r.Columns[column], add); err != nil {
			return h, err
		}
	}
	if h.Min > h.Max { // a peer has removed the keys since they were counted
		h.Keys, h.Min, h.Max = 0, 0, 0
		shm.Append(extent[:0], &h)
		return h, nil
	}
	h.Seed, h.Bytes = seed, uint32(bytes)
	shm.Append(extent[:0], &h)
	return h, nil
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
