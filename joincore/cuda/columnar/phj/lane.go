package phj

// canPlace reports whether the first pass leaves keys of keyWords in a lane of their
// own next to payload of the given shape: Lanes in kernels/layout/row.cuh.
func canPlace(keyWords int, s shape) bool {
	if s.form != columns {
		return false
	}
	switch s.words {
	case 2:
		return keyWords == 1
	case 4:
		return true
	case 8:
		return keyWords == 1 || s.unit == 2
	}
	return false
}

// laneOf returns the location of payload word q in a buffer for which canPlace holds:
// the byte offset of its first value and the bytes from one row to the next. words is
// the payload's width, capacity the buffer's rows.
func laneOf(keyWords, words, q int, capacity uint64) (offset, stride uint64) {
	if words == 2 {
		return capacity*uint64(4*keyWords) + uint64(4*q), 8
	}
	return capacity*uint64(4*keyWords+16*(q/4)) + uint64(q%4*4), 16
}
