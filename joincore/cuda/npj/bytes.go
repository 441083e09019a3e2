package npj

// TableBytes returns the size of the table over so many build rows, 0 where
// there can be none.
func TableBytes(buildRows int64) int64 {
	if buildRows > maxBuild {
		return 0
	}
	return 8 * slots(buildRows)
}
