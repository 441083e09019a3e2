package columnar

import "testing"

// A table consists of whole lines and has an empty slot, so that searches end.
func TestSlots(t *testing.T) {
	for _, c := range []struct{ rows, room, slots int64 }{
		{0, 1 << 30, 8}, {1, 1 << 30, 8}, {5, 1 << 30, 16}, {7, 0, 8}, {8, 0, 16}, {1000, 0, 1256}, {1000, 1500 * 8, 1504}, {1 << 27, 1 << 40, 1 << 28}, {maxTableRows, 1 << 40, 1 << 32},
	} {
		if got := tableSlots(c.rows, c.room); got != c.slots {
			t.Errorf("%d rows, room for %d bytes: %d slots in place of %d", c.rows, c.room, got, c.slots)
		}
	}
}
