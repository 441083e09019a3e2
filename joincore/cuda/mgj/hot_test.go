//go:build cuda

package mgj

import (
	"context"
	"strings"
	"testing"

	"gpujoin/joincore/cuda/columnar"
	"gpujoin/joincore/cuda/driver"
	"gpujoin/testsupport/columnartest"
)

// hotKeysOf returns keys of the given build rows, which are all different but for two of key
// 3, and of probe rows of which most have one of the first keys. Some of these have no build
// row. They are so many that two of them in one slot of the sample's table have less than mostCold
// of a share, also of eight GPUs.
func hotKeysOf(build int) func(*columnartest.Rig, int) uint64 {
	n := 0
	return func(r *columnartest.Rig, row int) uint64 {
		n++
		key := uint64(0)
		switch {
		case n == 1:
			key = 3
		case n <= build:
			key = uint64(row)
		case r.Rand.IntN(8) > 0:
			key = uint64(r.Rand.IntN(24)) // 0 has no build row
		default:
			key = uint64(r.Rand.IntN(2 * build))
		}
		return key * 0x9e3779b97f4a7c15
	}
}

// bypassed returns the join with its hot keys sampled, and checks whether they were joined
// where they are.
func (b *bed) bypassed(t *testing.T, o Options, build, probe placement, want bool) columnar.Func {
	o.Bypass = BypassAlways
	join := b.join(o, build, probe)
	return func(ctx context.Context, d *driver.Context, s *driver.Stream, a *driver.Arena, j *columnar.Join) (*columnar.Output, *columnar.Report, error) {
		out, report, err := join(ctx, d, s, a, j)
		if err == nil && (strings.Contains(report.Algorithm, "+bypass") != want || b.report.HotKeys > 0 != want) {
			t.Errorf("%s with %d hot keys, %v of %v", report.Algorithm, b.report.HotKeys, o, j)
		}
		return out, report, err
	}
}

// The probe rows of hot keys are joined where they are, on all layouts and with rows stored
// or copied.
func TestHotKeys(t *testing.T) {
	onGroups(t, func(r *columnartest.Rig, b *bed) { hotKeys(t, r, b) })
}

func hotKeys(t *testing.T, r *columnartest.Rig, b *bed) {
	several := len(b.members) > 1
	const build, probe = 3000, 20001
	hot := func(keyBytes int, widths [2][]int) columnartest.Case {
		return some(build, probe, keyBytes, widths, hotKeysOf(build))
	}
	for _, keyBytes := range []int{4, 8} {
		for _, widths := range [][2][]int{two, {{4}, {4, 4}}, {{8}, {8, 8}}, {{4, 4, 4, 4}, {4, 4, 4, 4}}} {
			for _, o := range []Options{{}, {Strategy: Replicate}, {Ranges: evenRanges(1, 1)}} {
				r.Inner(b.bypassed(t, o, evenly, evenly, several), hot(keyBytes, widths))
			}
			r.Inner(b.bypassed(t, Options{}, uneven, last, several), hot(keyBytes, widths))
			r.Inner(b.bypassed(t, Options{}, first, uneven, several), hot(keyBytes, widths))
		}
	}
	noKey := hot(4, two)
	noKey.NoKey = true
	r.Inner(b.bypassed(t, Options{}, evenly, evenly, several), noKey)
	few := hot(4, two)
	few.Expect = 10 // cold results that were not expected
	r.Inner(b.bypassed(t, Options{}, evenly, evenly, several), few)
	// Cases in which hot keys take part like others.
	ids := hot(4, two)
	ids.RowIDs = true
	r.Inner(b.bypassed(t, Options{}, evenly, evenly, false), ids)
	r.Inner(b.bypassed(t, Options{}, evenly, evenly, false), hot(4, [2][]int{many(9, 4), {4}}))
	r.Inner(b.bypassed(t, Options{Strategy: Alone}, evenly, evenly, false), hot(4, two))
	r.Inner(b.bypassed(t, Options{}, evenly, evenly, false), some(build, probe, 4, two, columnartest.Spread(build)))
	r.Inner(b.bypassed(t, Options{}, evenly, evenly, false), some(300, 5000, 4, two, hotKeysOf(300))) // too few for a sample
	// All probe rows have one key, or one that two build rows have.
	one := func(key uint64) func(*columnartest.Rig, int) uint64 {
		n := 0
		return func(_ *columnartest.Rig, row int) uint64 {
			if n++; n <= build {
				return max(uint64(row), 1)
			}
			return key
		}
	}
	r.Inner(b.bypassed(t, Options{}, evenly, evenly, several), some(build, probe, 4, two, one(build-1)))
	r.Inner(b.bypassed(t, Options{}, evenly, evenly, false), some(build, probe, 4, two, one(1)))
	r.Inner(b.bypassed(t, Options{}, evenly, evenly, false), some(build, probe, 4, two, one(1<<20)))
}

// Hot keys after a Bloom filter.
func TestHotKeysAndFilter(t *testing.T) {
	onGroups(t, func(r *columnartest.Rig, b *bed) {
		r.Inner(b.bypassed(t, Options{Bloom: true}, evenly, uneven, len(b.members) > 1), some(3000, 30001, 4, two, hotKeysOf(3000)))
	})
}

// A result that is much larger than expected, with hot keys: the join is repeated without a
// bypass.
func TestHotKeysOverflow(t *testing.T) {
	onGroups(t, func(r *columnartest.Rig, b *bed) {
		const build, probe = 4000, 30000
		n := 0
		keys := func(r *columnartest.Rig, row int) uint64 {
			n++
			switch {
			case n <= build/20:
				return 1 << 20 // of many rows
			case n <= build:
				return uint64(row)
			case n%50 == 0:
				return 1 << 20
			}
			return build - uint64(r.Rand.IntN(8)) - 1
		}
		c := some(build, probe, 4, two, keys)
		c.Expect = probe
		r.Inner(b.join(Options{Bypass: BypassAlways}, evenly, evenly), c)
		if b.report.HotKeys > 0 {
			t.Errorf("%d hot keys are left", b.report.HotKeys)
		}
	})
}
