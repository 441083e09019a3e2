//go:build cuda

package columnartest

import (
	"math"
	"slices"
	"testing"

	"gpujoin/joincore/cuda/columnar"
)

// Spread returns keys of which `bound` are different, spread over the whole width. They
// include 0, all ones, and keys with equal low or high halves.
func Spread(bound uint64) func(*Rig, int) uint64 {
	return func(r *Rig, _ int) uint64 {
		switch k := r.Rand.Uint64N(bound); {
		case k == 0:
			return 0
		case k == 1:
			return math.MaxUint64
		case k%2 == 1:
			return k
		default:
			return k<<32 | k*2654435761&math.MaxUint32
		}
	}
}

// Ascending returns keys from `from` upwards, each `times` times.
func Ascending(from uint64, times int) func(*Rig, int) uint64 {
	return func(_ *Rig, row int) uint64 { return from + uint64(row/times) }
}

// Descending returns keys from `from` downwards.
func Descending(from uint64) func(*Rig, int) uint64 {
	return func(_ *Rig, row int) uint64 { return from - uint64(row) }
}

// Skewed returns keys of which the k-th is about 1/k as frequent as the first.
func Skewed(bound uint64) func(*Rig, int) uint64 {
	return func(r *Rig, _ int) uint64 {
		return uint64(math.Pow(float64(bound), r.Rand.Float64())) * 0x9e3779b97f4a7c15
	}
}

// Matrix checks sizes around warps and around tiles of the given rows, key and payload
// widths, orders of keys, duplicates on both sides, and results larger than expected. A
// short test runs fewer of these, with fewer rows where the size does not matter.
func (r *Rig) Matrix(f columnar.Func, tiles ...int) {
	r.Helper()
	cases := slices.Concat(sized(tiles), shaped())
	for i, random := range Trials(r.T, len(cases)) {
		r.Rand = random
		r.Inner(f, cases[i])
	}
}

var two = [2][]int{{4, 4}, {4, 4}}

// sized returns cases for pairs of sizes.
func sized(tiles []int) (cases []Case) {
	sizes := []int{0, 1, 31, 32, 33}
	for _, tile := range tiles {
		sizes = append(sizes, tile-1, tile, tile+1)
	}
	for i, build := range sizes {
		for k, probe := range sizes {
			if testing.Short() && (i+k)%2 != 0 {
				continue
			}
			cases = append(cases, Case{Build: build, Probe: probe, Keys: Spread(uint64(build + probe + 1)), KeyBytes: 4, Widths: two, Expect: -1})
		}
	}
	return cases
}

// shaped returns cases for widths, orders and numbers of keys.
func shaped() (cases []Case) {
	long, rows := !testing.Short(), [2]int{9000, 14000}
	if !long {
		rows = [2]int{2000, 3000}
	}
	for _, keyBytes := range []int{4, 8} {
		for _, widths := range [][2][]int{{}, {{4}, nil}, {nil, {8}}, {{1, 2}, {2, 1}}, {{4}, {4}}, {{4, 8}, {16}}, {{16, 1, 4}, {8, 8, 4, 2}}, {{8, 8}, {8, 8}}} {
			for _, ids := range []bool{false, true} {
				if !long && ids && len(widths[0]) != 1 {
					continue
				}
				cases = append(cases, Case{Build: rows[0], Probe: rows[1], Keys: Spread(uint64(rows[0])), KeyBytes: keyBytes, Widths: widths, Expect: -1, RowIDs: ids})
			}
		}
		for _, keys := range []func(*Rig, int) uint64{Ascending(1<<20, 1), Ascending(0, 3), Descending(1 << 30), Descending(1 << 62), Skewed(5000)} {
			cases = append(cases, Case{Build: rows[0] * 7 / 9, Probe: rows[0] * 5 / 9, Keys: keys, KeyBytes: keyBytes, Widths: two, Expect: -1})
		}
		// One key, few keys, and a hot key among others: results larger than expected.
		for _, bound := range []uint64{1, 2, 7, 300} {
			cases = append(cases,
				Case{Build: 600, Probe: 500, Keys: Spread(bound), KeyBytes: keyBytes, Widths: two, Expect: 100},
				Case{Build: 30, Probe: 5000, Keys: Spread(bound), KeyBytes: keyBytes, Widths: two, Expect: -1, NoKey: true},
				Case{Build: 5000, Probe: 30, Keys: Spread(bound), KeyBytes: keyBytes, Widths: two, Expect: 0})
		}
	}
	if long {
		cases = append(cases, Case{Build: 100000, Probe: 120000, Keys: Spread(90000), KeyBytes: 8, Widths: two, Expect: -1})
	}
	return append(cases, Case{Build: 20000, Probe: 3000, Keys: Spread(150), KeyBytes: 4, Widths: [2][]int{{4}, nil}, Expect: 5000, NoKey: true})
}
