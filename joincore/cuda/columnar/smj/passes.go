package smj

// Passes returns how many passes sort each side of a join with so many build
// rows.
func Passes(buildRows int64) int {
	shift, _ := digits(sortBits(buildRows))
	return len(shift)
}
