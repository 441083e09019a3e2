package phj

import (
	"fmt"
	"strings"
)

// MaxFlows is the most ranges of both sides together: a Sender has events and counts
// for so many.
const MaxFlows = 8

// Ranges is how the rows of a side are divided: the relative sizes of its ranges, up to the
// first 0.
type Ranges [MaxFlows]uint8

// Even returns n ranges of the same size, or as many as there may be.
func Even(n int) (r Ranges) {
	for i := range min(n, MaxFlows) {
		r[i] = 1
	}
	return r
}

// Count returns the number of ranges.
func (r Ranges) Count() (n int) {
	for n < len(r) && r[n] > 0 {
		n++
	}
	return n
}

// sum returns the sizes of the first n ranges together.
func (r Ranges) sum(n int) (size int64) {
	for _, s := range r[:n] {
		size += int64(s)
	}
	return size
}

// Ends returns the ends of the ranges of the given rows, which but for the last are multiples
// of 64, where a column's values are aligned as at its begin. If there are few rows, the last
// ranges are empty.
func (r Ranges) Ends(rows int64) []int64 {
	ends := make([]int64, r.Count())
	all := r.sum(len(ends))
	for i := range ends {
		size := r.sum(i + 1)
		ends[i] = min((rows/all*size+rows%all*size/all+63)/64*64, rows)
	}
	return ends
}

// Rows estimates the rows of all ranges by those of the first one.
func (r Ranges) Rows(first int64) int64 { return first * r.sum(r.Count()) / int64(r[0]) }

// First returns about how many of all rows are in the first range.
func (r Ranges) First(rows int64) int64 { return rows * int64(r[0]) / r.sum(r.Count()) }

// String returns the number of ranges if they have the same size, or else their sizes.
func (r Ranges) String() string {
	n := r.Count()
	if r == Even(n) {
		return fmt.Sprint(n)
	}
	return strings.Trim(strings.ReplaceAll(fmt.Sprint(r[:n]), " ", ":"), "[]")
}
