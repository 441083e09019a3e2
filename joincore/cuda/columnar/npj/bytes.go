package npj

import "math"

// TableBytes returns the size of the table over so many build rows where memory
// is not short, 0 where there can be none.
func TableBytes(buildRows int64) int64 {
	if buildRows > maxBuild {
		return 0
	}
	return slotBytes * slots(buildRows, math.MaxInt64)
}
