package mirror

import (
	"math/bits"
	"math/rand/v2"
	"slices"
)

// Sample is a number of rows of a table, chosen at random: each set of so many rows is as probable
// as any other one.
type Sample struct {
	Rows int64
	Seed uint64
}

// sample adds the rows of a sample, in the order of the table, and returns the number of all rows.
// It makes no other rows.
func (v *view) sample(parts []part, want *Sample) (total int64) {
	live := make([][]uint64, len(parts))
	for i := range parts {
		live[i] = parts[i].live()
		total += int64(count(live[i]))
	}
	chosen := choose(total, want.Rows, want.Seed)
	first := int64(0) // rows of the parts before
	for i := range parts {
		n := int64(count(live[i]))
		end, _ := slices.BinarySearch(chosen, first+n)
		if end > 0 {
			pick(live[i], chosen[:end], first)
			cuts, rows := cutsOf(live[i], parts[i].rows)
			if len(v.columns) == 0 || !v.copy(&parts[i], cuts, rows) {
				for _, c := range cuts {
					v.add(&parts[i], c)
				}
			}
		}
		chosen, first = chosen[end:], first+n
	}
	return total
}

// choose returns n different numbers below total, all of them if there are not more, in order. This
// is Floyd's method: n steps, however many there are to choose from.
func choose(total, n int64, seed uint64) []int64 {
	n = min(n, total)
	r := rand.New(rand.NewPCG(seed, 0))
	have := make(map[int64]struct{}, n)
	out := make([]int64, 0, n)
	for top := total - n; top < total; top++ {
		x := r.Int64N(top + 1)
		if _, ok := have[x]; ok {
			x = top
		}
		have[x] = struct{}{}
		out = append(out, x)
	}
	slices.Sort(out)
	return out
}

// pick clears all ones of a bitmap but those with the given ranks, of which the bitmap's first one has
// the rank first.
func pick(bitmap []uint64, ranks []int64, first int64) {
	for i, w := range bitmap {
		n := int64(bits.OnesCount64(w))
		var left uint64
		for len(ranks) > 0 && ranks[0] < first+n {
			left |= 1 << place(w, int(ranks[0]-first))
			ranks = ranks[1:]
		}
		bitmap[i] = left
		first += n
	}
}

// place returns the place of the one with a rank.
func place(word uint64, rank int) int {
	for range rank {
		word &= word - 1
	}
	return bits.TrailingZeros64(word)
}
