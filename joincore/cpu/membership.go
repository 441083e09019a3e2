package cpu

import (
	"context"

	"gpujoin/joincore/device"
)

// membership says which integers of a range are keys of a table, one bit each. Where few are,
// most rows that probe have no partner. The bits are a small part of the table, so they
// lie in a closer cache: a row without a partner takes 1 ns, whatever the table's size (semi-join
// filters by bitmaps: Graefe, ACM Computing Surveys 1993, section 5.2).
type membership struct {
	low  uint64
	bits []uint64 // behind the range, at least one that is 0
	last uint64   // its number
}

const (
	// membershipBits bounds the range: 1 MB of bits lies in the level 2 cache, or not far behind.
	membershipBits = 1 << 23
	// membershipShare is how many integers of the range there are for each key, at least.
	membershipShare = 16
	// membershipProbes is how many rows probe for each word of bits and each key, at least.
	membershipProbes = 4
)

// worthMembership reports whether enough rows probe a table of sparse keys for a bitmap to save time.
func worthMembership(keys device.KeyRange, probeRows int64) bool {
	if keys.Rows == 0 {
		return false
	}
	span := uint64(keys.High) - uint64(keys.Low)
	return span < membershipBits && uint64(keys.Rows)*membershipShare <= span &&
		probeRows >= membershipProbes*(keys.Rows+int64(span/64))
}

// addMembership makes the bits of a table that is built.
func (t *table) addMembership(ctx context.Context, m *device.Match, keys device.KeyRange) error {
	span := uint64(keys.High) - uint64(keys.Low) + 1
	bits, err := alloc[uint64](t.dev, int(span/64)+1)
	if err != nil {
		return err
	}
	clear(bits)
	low := uint64(keys.Low)
	t.member = &membership{low: low, bits: bits, last: span}
	return t.dev.parallel(ctx, 1, func(st *stream, _ int) error {
		return st.eachChunk(ctx, t.space, m.Build, func(keys []uint64, _ []uint32, _ uint32) error {
			for _, k := range keys {
				if at := k - low; at < span { // others may change the keys of an input
					bits[at/64] |= 1 << (at % 64)
				}
			}
			return nil
		})
	})
}

// find writes the numbers of the keys that are members to out, and returns how many they are.
func (s *membership) find(keys []uint64, out []uint32) (n int) {
	bits, low, last := s.bits, s.low, s.last
	out = out[:len(keys)]
	for i, k := range keys {
		at := min(k-low, last)
		out[n] = uint32(i)
		n += int(bits[at/64] >> (at % 64) & 1)
	}
	return n
}

// selection drops the rows of chunks that have no partner by a table's bits, while that drops
// many.
type selection struct {
	of           *table // for which the counts are
	rows, passed int
	keys         []uint64
	sel          []uint32
}

// selectionRows is after how many rows it is known whether testing them pays: at least
// three of four have to be dropped.
const selectionRows = 1 << 15

func newSelection(chunk int) selection {
	return selection{keys: make([]uint64, chunk), sel: make([]uint32, chunk)}
}

// apply returns the keys that are members of a table, and their rows; sel nil: key i is that of row i.
func (s *selection) apply(t *table, keys []uint64, sel []uint32) ([]uint64, []uint32) {
	if s.of != t {
		s.of, s.rows, s.passed = t, 0, 0
	}
	if s.rows >= selectionRows && 4*s.passed > s.rows {
		return keys, sel
	}
	n := t.member.find(keys, s.sel)
	s.rows, s.passed = s.rows+len(keys), s.passed+n
	for i, from := range s.sel[:n] {
		s.keys[i] = keys[from]
	}
	if sel != nil {
		for i, from := range s.sel[:n] {
			s.sel[i] = sel[from]
		}
	}
	return s.keys[:n], s.sel[:n]
}
