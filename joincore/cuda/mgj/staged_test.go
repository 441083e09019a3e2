//go:build cuda

package mgj

import (
	"errors"
	"fmt"
	"testing"

	"gpujoin/joincore"
	"gpujoin/joincore/mesh"
	"gpujoin/testsupport/columnartest"
	"gpujoin/testsupport/machines"
	"gpujoin/testsupport/sim"
)

// meshOf is a mesh of the given number of GPUs. Eight are a DGX-1, where rows take detours.
func meshOf(t *testing.T, gpus int) *mesh.Mesh {
	t.Helper()
	if gpus < 8 {
		return equalLinks(t, gpus)
	}
	m, err := machines.Mesh("dgx1")
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// Rows that the first pass leaves in its GPU's memory are copied over the links of a mesh,
// through host memory between two devices.
func TestStaged(t *testing.T) {
	for _, ordinals := range layouts(t) {
		t.Run(fmt.Sprint(ordinals), func(t *testing.T) {
			r := columnartest.New(t, 1<<28)
			b := newBed(t, meshOf(t, len(ordinals)), ordinals...)
			for _, o := range []Options{{}, {Strategy: Replicate}, {Strategy: Alone}, {Ranges: evenRanges(2, 2)}, {NoOverlap: true, Policy: sim.Direct{}}} {
				for _, place := range []placement{evenly, first, last, uneven} {
					for _, rows := range [][2]int{{0, 33}, {1, 1}, {20000, 30001}} {
						r.Inner(b.join(o, place, evenly), some(rows[0], rows[1], 4, two, columnartest.Spread(uint64(rows[0]+1))))
					}
				}
				for _, widths := range [][2][]int{{}, {{4}, {4, 4}}, {{8, 8}, {8}}, {{1, 2}, {2, 1}}, {many(9, 4), {4}}, {many(10, 4), {16, 8, 1}}} {
					r.Inner(b.join(o, uneven, last), some(6000, 9000, 8, widths, columnartest.Spread(6000)))
				}
				skewed := some(1000, 2000, 4, two, columnartest.Skewed(1000))
				skewed.Expect = 10
				r.Inner(b.join(o, evenly, uneven), skewed)
				ids := some(3000, 7001, 4, two, columnartest.Spread(2000))
				ids.RowIDs = true
				r.Inner(b.join(o, evenly, uneven), ids)
			}
			r.Inner(b.join(Options{}, evenly, evenly), some(20000, 30001, 4, two, columnartest.Spread(20000)))
			t.Logf("%+v", b.report.Copied)
			if copied := b.report.Copied.Bytes; (copied > 0) != (len(ordinals) > 1) || copied < b.report.Bytes {
				t.Errorf("%d GPUs copied %d bytes of %d", len(ordinals), copied, b.report.Bytes)
			}
			if err := b.attempt(t.Context(), Options{}, 1000, memberBytes, nil); !errors.Is(err, joincore.ErrBudget) {
				t.Errorf("returned %v in place of ErrBudget", err)
			}
			r.Inner(b.join(Options{}, evenly, evenly), some(3000, 5000, 4, two, columnartest.Spread(3000)))
		})
	}
}
