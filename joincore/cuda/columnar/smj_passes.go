package columnar

// SortPasses returns the number of sort passes for a join with the given build rows.
func SortPasses(buildRows int64) int {
	shift, _ := sortDigits(sortBits(buildRows))
	return len(shift)
}
