package smj

// Passes returns the number of sort passes for a join with the given build rows.
func Passes(buildRows int64) int {
	shift, _ := digits(sortBits(buildRows))
	return len(shift)
}
