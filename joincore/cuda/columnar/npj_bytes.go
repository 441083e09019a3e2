package columnar

import "math"

// TableBytes returns the bytes of the table for a number of build rows if memory
// suffices, or 0 if no table can be that large.
func TableBytes(buildRows int64) int64 {
	if buildRows > maxTableRows {
		return 0
	}
	return slotBytes * tableSlots(buildRows, math.MaxInt64)
}
