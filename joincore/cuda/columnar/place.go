package columnar

// numberColumn returns which of a side's result columns can hold the row numbers until it is
// gathered itself, after all others: the narrowest one that is wide enough, or -1.
func numberColumn(widths []int) int {
	best := -1
	for i, w := range widths {
		if w >= 4 && (best < 0 || w < widths[best]) {
			best = i
		}
	}
	return best
}

// NumberBytes returns the bytes per result row of row numbers outside the result's
// columns if a side's payload is gathered by row number. inPlace: row numbers are
// stored in result columns where possible.
func NumberBytes(widths []int, inPlace bool) int64 {
	if inPlace && numberColumn(widths) >= 0 {
		return 0
	}
	return 4
}
