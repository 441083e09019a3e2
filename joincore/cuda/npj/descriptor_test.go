package npj

import (
	"testing"

	"gpujoin/joincore/cuda/check"
)

// The kernels read the descriptor as it is written here.
func TestLayout(t *testing.T) { check.Layout(t, "../kernels/sort.h", "gj_table", tableDescriptor{}) }

func TestSlots(t *testing.T) {
	for _, c := range []struct{ rows, slots int64 }{{0, 2}, {1, 2}, {2, 4}, {3, 8}, {4, 8}, {5, 16}, {1 << 27, 1 << 28}, {1<<27 + 1, 1 << 29}, {maxBuild, 1 << 32}} {
		if got := slots(c.rows); got != c.slots {
			t.Errorf("%d rows: %d slots in place of %d", c.rows, got, c.slots)
		}
	}
}
