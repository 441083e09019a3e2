package device

import "math/bits"

// RowIDs is how rows of several devices are told apart in 32 bits: the device
// in the upper bits, the row's number there in the others. One device takes no
// bits: its ids are row numbers. The zero value is that of one device.
type RowIDs struct{ device uint }

// NewRowIDs returns the ids of rows of the given number of devices.
func NewRowIDs(devices int) RowIDs { return RowIDs{uint(bits.Len(uint(max(devices, 1) - 1)))} }

// reservedIDs are left free of each device's, for numbers that kernels round up
// and for the one that means no row.
const reservedIDs = 1 << 20

// Rows returns how many rows a device may have.
func (r RowIDs) Rows() int64 { return 1<<(32-r.device) - reservedIDs }

// First returns the id of a device's row 0; its other rows follow.
func (r RowIDs) First(device int) uint32 { return uint32(uint64(device) << (32 - r.device)) }

// Split returns the device of a row and its number there.
func (r RowIDs) Split(id uint32) (device int, row uint32) {
	return int(uint64(id) >> (32 - r.device)), id & uint32(1<<(32-r.device)-1)
}
