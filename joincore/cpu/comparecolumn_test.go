package cpu

import (
	"cmp"
	"testing"

	"gpujoin/joincore"
)

// TestCompareStored compares the extremes of a width with each other.
func TestCompareStored(t *testing.T) {
	compareWidth[uint8, int8](t, 8)
	compareWidth[uint16, int16](t, 16)
	compareWidth[uint32, int32](t, 32)
	compareWidth[uint64, int64](t, 64)
}

func compareWidth[T word, S signedWord](t *testing.T, bits uint) {
	t.Helper()
	most := int64(1)<<(bits-1) - 1
	values := []int64{-most - 1, -most, -1, 0, 1, most - 1, most}
	stored := make([]T, len(values))
	for i, x := range values {
		stored[i] = T(x)
	}
	for op := joincore.Equal; op <= joincore.GreaterEqual; op++ {
		for _, y := range values {
			out := make([]uint8, len(values))
			compareConstant(comparisonOf(op), view[S](stored), S(y), out)
			for i, x := range values {
				if want := comparisonOf(op).of(cmp.Compare(x, y)); out[i] != want {
					t.Errorf("%d bits: %d, operation %d, %d: %d, want %d", bits, x, op, y, out[i], want)
				}
			}
		}
	}
}
