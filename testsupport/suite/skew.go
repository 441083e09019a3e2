package suite

import (
	"context"
	"encoding/binary"
	"sync"
	"testing"

	"gpujoin/joincore"
	"gpujoin/joincore/costmodel"
	"gpujoin/joincore/exec"
)

// Skew: joins with one key in half of the probe side, with a single-key build
// side, and with results many times larger than both inputs need no more memory
// than the size of the inputs and a little for tables. Sums of both payloads
// show that every pair was returned.
func Skew(t *testing.T, s Subject) {
	n := 1 << 17
	if testing.Short() || Race {
		n = 1 << 14
	}
	for name, c := range map[string]struct{ left, right func(row int) uint64 }{
		"half of the probe side": {
			func(row int) uint64 { return uint64(row/2) * uint64(row&1) * 7919 },
			func(row int) uint64 { return uint64(row) * 7919 },
		},
		"few keys, many to many": {
			func(row int) uint64 { return uint64(row % (n / 64)) },
			func(row int) uint64 { return uint64(row % (n / 64)) },
		},
		"one key built, few probe it": {
			func(row int) uint64 {
				if row < 40 {
					return 5
				}
				return uint64(row) << 20
			},
			func(row int) uint64 { return 5 },
		},
	} {
		left, right := Keyed(n, c.left), Keyed(n, c.right)
		plan := PairPlan(left, right)
		want, rows := pairSums(left, right)
		size := int64(2 * n * 16) // of both inputs
		for _, a := range s.Algorithms {
			for _, buildLeft := range []bool{false, true} {
				mem := &Arena{}
				if !s.OwnMemory {
					mem.Limit = size*3/2 + 1<<20
				}
				if s.Copies {
					mem.Limit += size
				}
				if s.Divides {
					mem.Limit += size * 5 / 4
				}
				sink := &sums{Discarder: NewDiscarder(outputColumns(plan), 4, 1<<13)}
				var stats joincore.Stats
				err := Run(t.Context(), s.Provider, plan, []*joincore.Relation{left, right}, mem, sink, exec.Options{
					Decide: func(int, costmodel.Decision) costmodel.Decision {
						return costmodel.Decision{Algorithm: a, BuildLeft: buildLeft, Bits: 5}
					},
				}, &stats)
				if err != nil {
					t.Fatalf("%s, %v, build left %v: %v", name, a, buildLeft, err)
				}
				if got := sink.Rows.Load(); sink.total != want || got != rows {
					t.Errorf("%s, %v, build left %v: %d rows, sums %v; want %d, %v", name, a, buildLeft, got, sink.total, rows, want)
				}
				mem.empty(t, name)
				if !s.OwnMemory && stats.Peak > mem.Limit {
					t.Errorf("%s, %v: peak of %d bytes", name, a, stats.Peak)
				}
			}
		}
	}
}

// Keyed makes a relation of an int8 key and an int8 payload.
func Keyed(rows int, key func(row int) uint64) *joincore.Relation {
	return Int64Relation(rows, 2, func(row, column int) uint64 {
		if column == 0 {
			return key(row)
		}
		return uint64(row)
	})
}

// sums is a Sink that sums up values, for results too large to keep.
type sums struct {
	*Discarder
	lock  sync.Mutex
	total [2]uint64
}

func (s *sums) Emit(ctx context.Context, b *joincore.Batch, rows int, heap []int) error {
	s.lock.Lock()
	for c := range s.total {
		for i := range rows {
			s.total[c] += binary.LittleEndian.Uint64(b.Columns[c].Values[8*i:])
		}
	}
	s.lock.Unlock()
	return s.Discarder.Emit(ctx, b, rows, heap)
}

// PairPlan joins two relations by their first columns and returns their second ones.
func PairPlan(left, right *joincore.Relation) *joincore.Plan {
	return &joincore.Plan{
		Inputs: []joincore.Input{{Columns: left.Columns}, {Columns: right.Columns}},
		Root: &joincore.Join{
			Kind: joincore.Inner, Left: &joincore.Scan{}, Right: &joincore.Scan{Input: 1},
			Keys: []joincore.KeyPair{{Right: joincore.ColumnRef{Input: 1}, Class: joincore.KeyInt}},
		},
		Output: []joincore.ColumnRef{{Input: 0, Column: 1}, {Input: 1, Column: 1}},
	}
}

// pairSums returns the sums of the join of two keyed relations, and its rows.
func pairSums(left, right *joincore.Relation) (total [2]uint64, rows int64) {
	type group struct{ rows, sum uint64 }
	groups := map[uint64]group{}
	each(right, func(key, payload uint64) {
		g := groups[key]
		groups[key] = group{g.rows + 1, g.sum + payload}
	})
	each(left, func(key, payload uint64) {
		g := groups[key]
		rows += int64(g.rows)
		total[0] += payload * g.rows
		total[1] += g.sum
	})
	return total, rows
}

func each(r *joincore.Relation, f func(key, payload uint64)) {
	for _, s := range r.Segments {
		for i := range s.Rows {
			f(binary.LittleEndian.Uint64(s.Columns[0].Values[8*i:]), binary.LittleEndian.Uint64(s.Columns[1].Values[8*i:]))
		}
	}
}
