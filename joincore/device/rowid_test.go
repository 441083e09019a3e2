package device_test

import (
	"testing"

	"gpujoin/joincore/device"
)

// Ids have 32 bits: those that devices do not need are the number of a row.
func TestRowIDs(t *testing.T) {
	for _, c := range []struct {
		devices, bits int
		rows          int64
	}{
		{0, 32, 1<<32 - 1<<20}, {1, 32, 1<<32 - 1<<20}, {2, 31, 1<<31 - 1<<20}, {3, 30, 1<<30 - 1<<20}, {4, 30, 1<<30 - 1<<20},
		{8, 29, 1<<29 - 1<<20}, {9, 28, 1<<28 - 1<<20},
	} {
		ids := device.NewRowIDs(c.devices)
		if ids.Rows() != c.rows || ids.Bits() != c.bits {
			t.Errorf("%d devices: %d rows each by %d bits, want %d by %d", c.devices, ids.Rows(), ids.Bits(), c.rows, c.bits)
		}
	}
	if ids := (device.RowIDs{}); ids.Bits() != 32 {
		t.Errorf("the only device has ids of %d bits", ids.Bits())
	}
}
