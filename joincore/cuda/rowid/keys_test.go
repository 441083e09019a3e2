//go:build cuda

package rowid

import (
	"encoding/binary"
	"slices"
	"testing"

	"gpujoin/joincore"
	"gpujoin/joincore/device"
)

// keyed returns the rows of a side that have a key, and the key of each: the
// bits of its parts side by side, the first lowest.
func (s *testSide) keyed(key *device.Key) (rows []uint32, keys []uint64) {
next:
	for i := range uint32(s.rows) {
		var x uint64
		shift := 0
		for c, p := range key.Parts {
			v := s.at(c, i)
			if v == nil {
				continue next
			}
			x |= uint64(integer(v)) & (^uint64(0) >> (64 - p.Bits)) << shift
			shift += p.Bits
		}
		rows, keys = append(rows, i), append(keys, x)
	}
	return rows, keys
}

// keysOf plans the keys of two sides whose columns are those of a key type.
func keysOf(k keyType) (build, probe *device.Key) {
	var pairs []joincore.KeyPair
	for c, class := range k.classes {
		pairs = append(pairs, joincore.KeyPair{Left: joincore.ColumnRef{Column: c}, Right: joincore.ColumnRef{Input: 1, Column: c}, Class: class})
	}
	return device.Keys(pairs, func(c joincore.ColumnRef) joincore.Column {
		return [][]joincore.Column{k.build, k.probe}[c.Input][c.Column]
	})
}

// Rows that have a key are found in their order, and their exact keys are made,
// of every width and of several parts.
func TestKeysAreAColumn(t *testing.T) {
	r := newRig(t, 256<<20)
	for _, k := range keyTypes {
		key, _ := keysOf(k)
		if !key.Exact || len(key.Parts) == 0 {
			continue
		}
		for _, n := range sizes() {
			for _, nulls := range []float64{0, 0.2, 1} {
				r.scoped(func() {
					s := r.side(n, k.build, k.classes, func(i int64) int64 { return r.rand.Int64() }, nulls, n%2 == 0)
					rows, want := s.keyed(key)
					out := r.alloc(4 * n)
					calls := 0
					got, err := r.Keyed(r.ctx, r.upload(0, s), key, out, func() { calls++ })
					r.must(err)
					if calls != 1 {
						t.Errorf("%d calls while the device works", calls)
					}
					if got != int64(len(rows)) || !slices.Equal(get[uint32](r, out, got), rows) {
						t.Fatalf("%s: %d of %d rows have a key, want %d, or others", k.name, got, n, len(rows))
					}

					some := &testSide{columns: s.columns, positions: make([]uint32, len(rows)), rows: got}
					for i, row := range rows {
						if some.positions[i] = row; s.positions != nil {
							some.positions[i] = s.positions[row]
						}
					}
					bytes := int64(KeyBytes(key))
					keys := r.alloc(bytes * got)
					r.must(r.Keys(r.ctx, r.upload(0, some), key, keys))
					b := get[byte](r, keys, bytes*got)
					for i, x := range want {
						if word := append(b[int64(i)*bytes:][:bytes:bytes], make([]byte, 8)...); binary.LittleEndian.Uint64(word) != x {
							t.Fatalf("%s: key %d of %d is %x, want %x", k.name, i, got, word[:bytes], x)
						}
					}
				})
			}
		}
	}
}

func TestHashesAreNoColumn(t *testing.T) {
	r := newRig(t, 64<<20)
	for _, k := range keyTypes {
		if key, _ := keysOf(k); !key.Exact {
			s := r.side(5, k.build, k.classes, func(i int64) int64 { return i }, 0, false)
			if err := r.Keys(r.ctx, r.upload(0, s), key, r.alloc(40)); err == nil {
				t.Errorf("%s: keys were made", k.name)
			}
		}
	}
}
