package columnar

// KeyRange describes the build side's keys: their range and how they are ordered.
type KeyRange struct {
	Low, High uint64 // the smallest and the largest key, unsigned
	// Near counts the rows whose key is near the preceding row's: their words of an
	// array are in the same 32-byte sector or the next one.
	Near int64
}

// ArrayWordBytes is the size of an array's word, the number of a build row.
const ArrayWordBytes = 4

// ArrayBytes returns the bytes of the array that can replace the table, or 0 if the
// keys are too sparse: an array has at most two words per row, less than any table.
func (r KeyRange) ArrayBytes(buildRows int64) int64 {
	if !r.within(2 * uint64(buildRows)) {
		return 0
	}
	return ArrayWordBytes * int64(r.High-r.Low+1)
}

// within reports whether an array of that many words has one for each key.
func (r KeyRange) within(words uint64) bool { return r.High-r.Low < words }
