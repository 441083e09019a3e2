package launch

// host returns which of a side's result columns of such widths can hold the
// rows' numbers until it is gathered itself, after the others: the narrowest
// that has room for them, -1 if none has.
func host(widths []int) int {
	best := -1
	for i, w := range widths {
		if w >= 4 && (best < 0 || w < widths[best]) {
			best = i
		}
	}
	return best
}

// NumberBytes returns what a row of the result takes beside its columns where a
// side's payload of such widths is gathered by row numbers; inPlace says that
// these lie in the result's columns where they can.
func NumberBytes(widths []int, inPlace bool) int64 {
	if inPlace && host(widths) >= 0 {
		return 0
	}
	return 4
}
