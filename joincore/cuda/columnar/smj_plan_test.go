package columnar

import "testing"

func TestSortBits(t *testing.T) {
	for _, c := range []struct {
		rows int64
		bits int
	}{{0, 1}, {1, 1}, {2, 1}, {3, 2}, {512, 9}, {513, 9}, {2048, 9}, {2049, 12}, {1 << 18, 18}, {1 << 20, 18}, {1<<20 + 1, 21}, {1 << 23, 23}, {1 << 27, 27}, {1 << 29, 27}, {1 << 31, 31}, {1<<32 - 1<<20, 32}} {
		if got := sortBits(c.rows); got != c.bits {
			t.Errorf("%d rows: %d bits in place of %d", c.rows, got, c.bits)
		}
	}
}

// The digits of all passes cover the sorted bits, each once.
func TestDigits(t *testing.T) {
	for n := 1; n <= 32; n++ {
		shift, mask := sortDigits(n)
		if len(shift) > maxSortPasses {
			t.Fatalf("%d bits: %d passes", n, len(shift))
		}
		var all uint64
		for p := range shift {
			if mask[p] == 0 || mask[p] >= sortFan {
				t.Errorf("%d bits: pass %d has the mask %#x", n, p, mask[p])
			}
			if all&(mask[p]<<shift[p]) != 0 {
				t.Errorf("%d bits: pass %d sorts by bits of an earlier one", n, p)
			}
			all |= mask[p] << shift[p]
		}
		if want := uint64(1<<32 - 1<<(32-n)); all != want {
			t.Errorf("%d bits: %#x are sorted in place of %#x", n, all, want)
		}
	}
}
