//go:build cuda

package mgj

import (
	"fmt"
	"math"
	"testing"

	"gpujoin/joincore/cuda/columnar/phj"
	"gpujoin/testsupport/columnartest"
)

// onPacked runs a test on each layout with rows that are copied, and with rows that are
// staged.
func onPacked(t *testing.T, test func(*columnartest.Rig, *bed)) {
	for _, ordinals := range layouts(t) {
		t.Run(fmt.Sprintf("%v copied", ordinals), func(t *testing.T) {
			test(columnartest.New(t, 1<<28), newBed(t, nil, ordinals...))
		})
		t.Run(fmt.Sprintf("%v staged", ordinals), func(t *testing.T) {
			test(columnartest.New(t, 1<<28), newBed(t, meshOf(t, len(ordinals)), ordinals...))
		})
	}
}

// extremes are the least and the greatest keys of all widths, among small ones.
func extremes(r *columnartest.Rig, row int) uint64 {
	list := []uint64{0, 1 << 63, math.MaxInt64, math.MaxUint64, 1 << 31, math.MaxInt32, math.MaxUint32}
	if k := r.Rand.IntN(400); k < len(list) {
		return list[k]
	}
	return uint64(row)
}

// checkPacked reports joins that did not compress what they have sent.
func (b *bed) checkPacked(r *columnartest.Rig, what string) {
	switch p := b.report; {
	case p.Packed != p.Bytes:
		r.Errorf("%s, %v: %d bytes of %d are compressed", what, p.Way, p.Packed, p.Bytes)
	case p.Bytes > 0 && len(b.members) == 1:
		r.Errorf("%s: one GPU sends %d bytes", what, p.Bytes)
	}
}

// Compressed rows arrive as they were: keys of both widths in few bits and in all, of all payloads, in
// several ranges, by all strategies, with partitions and GPUs that have no rows.
func TestPackedRows(t *testing.T) {
	keys := map[string]func(*columnartest.Rig, int) uint64{
		"small keys": columnartest.Ascending(0, 1), "large keys": columnartest.Spread(20000), "extremes": extremes,
		"keys from below 0": columnartest.Ascending(math.MaxUint64-4000, 1), "equal keys": columnartest.Spread(1),
	}
	onPacked(t, func(r *columnartest.Rig, b *bed) {
		for _, o := range []Options{{}, {Strategy: Replicate}, {Strategy: Alone}, {Ranges: evenRanges(2, 3)}, {Ranges: [2]phj.Ranges{{1, 2}, {2, 3, 2, 1}}}, {NoOverlap: true}} {
			o.Pack = PackAlways
			for name, key := range keys {
				rows := [][2]int{{0, 0}, {0, 33}, {33, 0}, {1, 1}, {700, 3000}, {20000, 30001}}
				if name == "equal keys" {
					rows = [][2]int{{60, 150}}
				}
				for _, n := range rows {
					for i, place := range []placement{evenly, first, last, uneven} {
						r.Inner(b.join(o, place, evenly), some(n[0], n[1], 4+4*(i%2), two, key))
						b.checkPacked(r, name)
					}
				}
			}
		}
	})
}

// All payloads that kernels carry or pack, row ids, and payload that begins anywhere.
func TestPackedPayloads(t *testing.T) {
	onPacked(t, func(r *columnartest.Rig, b *bed) {
		for _, keyBytes := range []int{4, 8} {
			for _, widths := range [][2][]int{
				{}, {{4}, nil}, {{4}, {4, 4, 4}}, {{8}, {8, 8}}, {{1, 2}, {2, 1}}, {{16, 1, 4}, {8, 8, 4, 2}}, {many(9, 4), {4}},
				{many(10, 4), many(17, 4)}, {{1, 2, 8, 16, 4, 2, 1, 8}, {16, 16, 16, 1}}, {many(33, 1), {2}},
			} {
				for _, o := range []Options{{Pack: PackAlways}, {Pack: PackAlways, Ranges: evenRanges(2, 3)}} {
					r.Inner(b.join(o, uneven, evenly), some(6000, 9000, keyBytes, widths, columnartest.Spread(6000)))
					b.checkPacked(r, fmt.Sprint(widths))
				}
			}
			ids := some(30000, 70001, keyBytes, two, columnartest.Ascending(5, 1))
			ids.RowIDs = true
			r.Inner(b.join(Options{Pack: PackAlways}, evenly, evenly), ids)
			b.checkPacked(r, "row ids")
		}
		few := some(300, 200_000, 8, two, columnartest.Spread(1<<30)) // a result that is smaller than what is received
		few.Expect = 1
		r.Inner(b.join(Options{Pack: PackAlways}, evenly, evenly), few)
		b.checkPacked(r, "few rows match")
		b.shift = true
		r.Inner(b.join(Options{Pack: PackAlways}, evenly, uneven), some(5000, 7001, 4, [2][]int{{8, 1}, {4, 4, 4, 1}}, columnartest.Spread(5000)))
	})
}

// Rows with small keys and ids take fewer bytes on links, also with a filter and with hot keys.
func TestPackedRowsTakeFewerBytes(t *testing.T) {
	onPacked(t, func(r *columnartest.Rig, b *bed) {
		for _, o := range []Options{{Pack: PackAlways}, {Pack: PackAlways, Bloom: true}, {Pack: PackAlways, Bypass: BypassAlways}} {
			c := some(200_000, 300_000, 8, [2][]int{}, columnartest.Ascending(1<<40, 1))
			c.RowIDs = !o.Bloom
			r.Inner(b.join(o, evenly, evenly), c)
			b.checkPacked(r, fmt.Sprintf("%+v", o))
			if p := b.report; len(b.members) == 2 && p.Saved < p.Packed/3 {
				r.Errorf("%+v: %d of %d bytes are saved", o, p.Saved, p.Packed)
			}
			hot := some(1000, 20_000, 4, two, columnartest.Skewed(1000))
			hot.Expect = 10
			r.Inner(b.join(o, evenly, uneven), hot)
		}
	})
}

// Without memory for compressed rows, they travel as they are. Rows that are stored are not
// compressed, nor few rows.
func TestRowsThatAreNotPacked(t *testing.T) {
	onPacked(t, func(r *columnartest.Rig, b *bed) {
		c := some(20000, 30001, 8, two, columnartest.Ascending(0, 1))
		for _, o := range []Options{{}, {Pack: PackNever}, {Pack: PackAlways, Way: WayStore}} {
			if b.fabric != nil && o.Way == WayStore {
				continue
			}
			r.Inner(b.join(o, evenly, evenly), c)
			if b.report.Packed != 0 || b.report.Saved != 0 {
				r.Errorf("%+v: %d bytes are compressed", o, b.report.Packed)
			}
		}
		if b.fabric == nil {
			r.Inner(b.join(Options{Pack: PackAlways}, evenly, evenly), c)
			if len(b.members) > 1 && b.report.Way != phj.Copy {
				r.Errorf("rows that are to be compressed are sent by %v", b.report.Way)
			}
		}
	})
}
