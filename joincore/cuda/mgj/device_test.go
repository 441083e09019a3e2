//go:build cuda

package mgj

import (
	"context"
	"errors"
	"testing"

	"gpujoin/joincore"
	"gpujoin/joincore/cuda/columnar"
	"gpujoin/testsupport/columnartest"
)

func some(build, probe int, keyBytes int, widths [2][]int, keys func(*columnartest.Rig, int) uint64) columnartest.Case {
	return columnartest.Case{Build: build, Probe: probe, Keys: keys, KeyBytes: keyBytes, Widths: widths, Expect: -1}
}

var two = [2][]int{{4, 4}, {4, 4}}

// Both strategies return every row once, for each layout, size and placement of rows.
func TestJoins(t *testing.T) {
	each(t, func(r *columnartest.Rig, b *bed) {
		for _, o := range []Options{{}, {Strategy: Replicate}, {Strategy: Alone}, {Ranges: [2]int{1, 1}, Blocks: 7}, {Ranges: [2]int{3, 5}}} {
			for _, place := range []placement{evenly, first, last, uneven} {
				for _, rows := range [][2]int{{0, 0}, {0, 33}, {33, 0}, {1, 1}, {700, 3000}, {20000, 30001}} {
					r.Inner(b.join(o, place, evenly), some(rows[0], rows[1], 4, two, columnartest.Spread(uint64(rows[0]+1))))
				}
				r.Inner(b.join(o, place, place), some(2000, 2000, 4, two, columnartest.Ascending(0, 1)))
				r.Inner(b.join(o, evenly, place), some(5000, 9000, 8, two, columnartest.Spread(5000)))
			}
		}
	})
}

// All payloads that kernels carry.
func TestPayloads(t *testing.T) {
	each(t, func(r *columnartest.Rig, b *bed) {
		for _, keyBytes := range []int{4, 8} {
			for _, widths := range [][2][]int{
				{}, {{4}, nil}, {nil, {4, 4}}, {{4}, {4, 4, 4}}, {{4, 4, 4, 4}, {4, 4, 4, 4}}, {{8}, {8, 8}}, {{8, 8, 8, 8}, {8}},
				{{1, 2}, {2, 1}}, {{16, 1, 4}, {8, 8, 4, 2}}, {{4, 8}, {16}}, {{4}, {4, 4, 4, 4, 4}}, {{4, 4}, {4, 4, 4, 4, 4, 4, 4}},
			} {
				r.Inner(b.join(Options{}, evenly, evenly), some(6000, 9000, keyBytes, widths, columnartest.Spread(6000)))
			}
		}
		noKey := some(6000, 9000, 4, two, columnartest.Spread(6000))
		noKey.NoKey = true
		r.Inner(b.join(Options{}, evenly, evenly), noKey)
	})
}

// Keys that repeat on both sides, one key alone, and a result larger than expected.
func TestSkew(t *testing.T) {
	each(t, func(r *columnartest.Rig, b *bed) {
		for _, c := range []columnartest.Case{
			some(1000, 2000, 4, two, columnartest.Skewed(1000)), some(60, 150, 4, two, columnartest.Spread(1)),
			some(30, 900, 4, two, columnartest.Spread(3)), some(2000, 2000, 8, two, columnartest.Spread(500)),
		} {
			for _, o := range []Options{{}, {Strategy: Replicate}} {
				r.Inner(b.join(o, evenly, uneven), c)
				few := c
				few.Expect = 10
				r.Inner(b.join(o, uneven, evenly), few)
			}
		}
	})
}

// A join that fails leaves the group as it was.
func TestErrors(t *testing.T) {
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	each(t, func(r *columnartest.Rig, b *bed) {
		for _, c := range []struct {
			ctx    context.Context
			rows   int64 // of the result, expected
			rowIDs bool
			want   error
		}{
			{context.Background(), 10, true, joincore.ErrUnsupported},
			{context.Background(), memberBytes, false, joincore.ErrBudget},
			{cancelled, 10, false, context.Canceled},
		} {
			if err := b.attempt(c.ctx, c.rows, c.rowIDs); !errors.Is(err, c.want) {
				r.Errorf("returned %v in place of %v", err, c.want)
			}
			r.Inner(b.join(Options{}, evenly, evenly), some(3000, 5000, 4, two, columnartest.Spread(3000)))
		}
	})
}

// attempt joins keys that are all equal, with so large an expected result.
func (b *bed) attempt(ctx context.Context, rows int64, rowIDs bool) error {
	parts := make([]columnar.Join, len(b.members))
	for i, m := range b.members {
		m.Arena.Rewind(0)
		at, err := m.Arena.Take(4096)
		if err != nil {
			return err
		}
		if err := m.Stream.Memset(at, 0, 4096); err != nil {
			return err
		}
		side := columnar.Side{Rows: 1000, Key: columnar.Column{Addr: at, Bytes: 4}}
		parts[i] = columnar.Join{Build: side, Probe: side, OutputRows: rows, RowIDs: rowIDs}
	}
	_, _, err := b.group.Join(ctx, parts, Options{})
	return err
}
