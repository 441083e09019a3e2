//go:build cuda

package mgj

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"gpujoin/joincore"
	"gpujoin/joincore/cuda/columnar"
	"gpujoin/joincore/cuda/columnar/phj"
	"gpujoin/joincore/cuda/driver"
	"gpujoin/testsupport/columnartest"
)

// Rows are copied if there is memory for blocks, and stored otherwise.
func TestCopiesNeedMemory(t *testing.T) {
	for _, ordinals := range layouts(t) {
		t.Run(fmt.Sprint(ordinals), func(t *testing.T) {
			r := columnartest.New(t, 1<<28)
			b := newBed(t, nil, ordinals...)
			b.way = WayCopy
			const most = memberBytes / 28 // result rows that fill a GPU, if no memory is used twice
			for expected, way := range map[int]phj.Way{0: phj.Copy, most * len(ordinals): phj.Store} {
				for _, s := range []Strategy{Exchange, Replicate} {
					c := some(20000, 30001, 4, two, columnartest.Spread(20000))
					c.Expect = int64(expected)
					r.Inner(b.join(Options{Strategy: s}, evenly, evenly), c)
					if got := b.report.Way; got != way {
						t.Errorf("%v, %d rows expected: %v in place of %v", s, expected, got, way)
					}
				}
			}
		})
	}
}

// GPUs with different memory join as long as each has enough for its part. If one of them has
// too little, the join fails on all, and the group joins again.
func TestGPUsWithDifferentMemory(t *testing.T) {
	const less = memberBytes / 8
	for _, ordinals := range layouts(t) {
		n := len(ordinals)
		if n == 1 {
			continue
		}
		for _, smaller := range []int{0, n - 1} {
			t.Run(fmt.Sprintf("%v, %d has less", ordinals, smaller), func(t *testing.T) {
				r := columnartest.New(t, 1<<28)
				bytes := slices.Repeat([]int64{memberBytes}, n)
				bytes[smaller] = less
				b := newBedOf(t, bytes, nil, ordinals...)
				for _, s := range []Strategy{Exchange, Replicate} {
					join := b.join(Options{Strategy: s}, evenly, evenly)
					r.Inner(func(ctx context.Context, d *driver.Context, st *driver.Stream, a *driver.Arena, j *columnar.Join) (*columnar.Output, *columnar.Report, error) {
						// The larger ones have memory for their parts of the expected result.
						large := *j
						large.OutputRows = int64(n) * less / 8
						if _, _, err := join(ctx, d, st, a, &large); !errors.Is(err, joincore.ErrBudget) {
							t.Errorf("%v: returned %v", s, err)
						}
						return join(ctx, d, st, a, j)
					}, some(20000, 30001, 4, two, columnartest.Spread(20000)))
				}
			})
		}
	}
}
