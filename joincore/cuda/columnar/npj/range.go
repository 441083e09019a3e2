package npj

// Range is that of a build side's keys, and how they follow each other.
type Range struct {
	Low, High uint64 // the smallest and the largest key, unsigned
	// Near counts the rows whose key is near that of the row before: their words
	// of an array lie in the same piece of 32 bytes, or in the next one.
	Near int64
}

// WordBytes is the size of an array's word: the number of a build row.
const WordBytes = 4

// ArrayBytes returns the size of the array by key that takes the table's place,
// 0 where the keys are too far apart for one: it has two words a row at most,
// which is less than any table needs.
func (r Range) ArrayBytes(buildRows int64) int64 {
	if !r.within(2 * uint64(buildRows)) {
		return 0
	}
	return WordBytes * int64(r.High-r.Low+1)
}

// within says whether an array of so many words has one for each key.
func (r Range) within(words uint64) bool { return r.High-r.Low < words }
