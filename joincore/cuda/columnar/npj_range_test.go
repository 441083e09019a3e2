package columnar

import (
	"math"
	"testing"
)

// An array is never larger than the smallest table; sparse keys have none.
func TestArrayBytes(t *testing.T) {
	for _, c := range []struct {
		low, high   uint64
		rows, bytes int64
	}{
		{7, 1006, 1000, 4000}, {0, 0, 1, 4}, {0, 1999, 1000, 8000}, {0, 2000, 1000, 0}, {5, 14, 1000, 40},
		{math.MaxUint64 - 9, math.MaxUint64, 10, 40}, {0, math.MaxUint64, 1 << 30, 0}, {0, maxTableRows - 1, maxTableRows, 4 * maxTableRows},
		{math.MaxUint64, 0, 0, 0}, // no rows
	} {
		got := KeyRange{Low: c.low, High: c.high}.ArrayBytes(c.rows)
		if got != c.bytes {
			t.Errorf("%d rows from %d to %d: %d bytes in place of %d", c.rows, c.low, c.high, got, c.bytes)
		}
		if least := slotBytes * tableSlots(c.rows, 0); got > least {
			t.Errorf("%d rows: the array has %d bytes, a table %d at least", c.rows, got, least)
		}
	}
}
