package device

import "math/bits"

// RowIDs divides 32-bit row ids among devices: the device number in the upper bits,
// the row number on that device in the others. With one device ids are row numbers;
// the zero value is for one device.
type RowIDs struct{ device uint }

// NewRowIDs returns the division for the given number of devices.
func NewRowIDs(devices int) RowIDs { return RowIDs{uint(bits.Len(uint(max(devices, 1) - 1)))} }

// reservedIDs of each device are unused, for numbers that kernels round up and for
// the one that means no row.
const reservedIDs = 1 << 20

// Rows returns the number of rows that a device may have.
func (r RowIDs) Rows() int64 { return 1<<(32-r.device) - reservedIDs }

// First returns the id of a device's row 0; those of its other rows follow.
func (r RowIDs) First(device int) uint32 { return uint32(uint64(device) << (32 - r.device)) }

// Split returns a row's device and its number there.
func (r RowIDs) Split(id uint32) (device int, row uint32) {
	return int(uint64(id) >> (32 - r.device)), id & uint32(1<<(32-r.device)-1)
}
