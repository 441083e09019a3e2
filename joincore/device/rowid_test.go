package device_test

import (
	"testing"

	"gpujoin/joincore/device"
)

func TestRowIDs(t *testing.T) {
	for _, c := range []struct {
		devices int
		rows    int64
	}{{0, 1<<32 - 1<<20}, {1, 1<<32 - 1<<20}, {2, 1<<31 - 1<<20}, {3, 1<<30 - 1<<20}, {8, 1<<29 - 1<<20}, {9, 1<<28 - 1<<20}} {
		ids := device.NewRowIDs(c.devices)
		if ids.Rows() != c.rows {
			t.Errorf("%d devices: %d rows each, want %d", c.devices, ids.Rows(), c.rows)
		}
		if c.devices > 1 && ids.First(1) != 1<<ids.Bits() || c.devices < 2 && ids.Bits() != 32 {
			t.Errorf("%d devices: %d bits are the row's number", c.devices, ids.Bits())
		}
		seen := map[uint32]bool{^uint32(0): true} // no row
		for d := range max(c.devices, 1) {
			for _, row := range []uint32{0, 1, 77, uint32(ids.Rows() - 1)} {
				id := ids.First(d) + row
				if at, n := ids.Split(id); seen[id] || at != d || n != row {
					t.Errorf("%d devices: row %d of device %d has id %x, which is row %d of device %d", c.devices, row, d, id, n, at)
				}
				seen[id] = true
			}
		}
	}
	if id := (device.RowIDs{}).First(0) + 5; id != 5 {
		t.Errorf("row 5 of the only device has id %d", id)
	}
}
