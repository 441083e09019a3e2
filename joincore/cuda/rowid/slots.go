package rowid

import (
	"math"
	"math/bits"
)

// Sizes of hash tables of groups, in slots: powers of two. Two tables are in memory
// while groups move from one to the next.
const (
	// leastGroupSlots are those of the first table if few groups are expected.
	// mostGroupSlots bounds those of any: slot numbers have 31 bits.
	leastGroupSlots, mostGroupSlots = 1 << 14, 1 << 30
	// mostFirstSlots bounds those of a table that only an estimate asks for.
	mostFirstSlots = 1 << 22
	// A table that need not be larger than the one before takes at most this part of
	// the free memory.
	wantedPart = 2
)

// nextPower returns the least power of two that is at least n.
func nextPower(n int64) int64 { return int64(1) << bits.Len64(uint64(max(n, 1)-1)) }

// groupsWithin returns how many groups a table of the given slots takes.
func groupsWithin(slots int64) int64 { return max(slots-slots/4, 1) }

// slotsWithin returns the size of a table for a number of groups that may be wrong:
// twice that many slots, or as many as its part of the free memory holds. A slot has
// slotBytes bytes.
func slotsWithin(groups, slotBytes, free int64) int64 {
	slots := min(nextPower(2*min(groups, mostGroupSlots)), mostGroupSlots)
	for slots > 1 && slots*slotBytes > free/wantedPart {
		slots /= 2
	}
	return slots
}

// firstSlots returns the size of the first table, given how many groups are expected;
// 0: unknown.
func firstSlots(expected, slotBytes, free int64) int64 {
	return max(min(slotsWithin(expected, slotBytes, free), mostFirstSlots), leastGroupSlots)
}

// nextSlots returns the size of the table that follows one that was too small. There
// are at most the given number of groups so far.
func nextSlots(slots, groups, slotBytes, free int64) int64 {
	return max(2*slots, min(4*slots, slotsWithin(groups, slotBytes, free)))
}

// record is where the parts of a slot are, in words of 8 bytes. Keys of several words
// have a word before them that says whether the slot is taken.
type record struct {
	stride     int // from a slot to the next
	key, cells int
}

// recordOf returns the record of keys and cells of that many words. One of less than
// a sector of 32 bytes, or just below two, does not straddle sectors.
func recordOf(keyWords, cellWords int) record {
	r := record{}
	if keyWords > 1 {
		r.key = 1
	}
	r.cells = r.key + keyWords
	r.stride = r.cells + cellWords
	if r.stride%4 == 3 {
		r.stride++
	}
	return r
}

// sample is what the launches so far have shown of the number of groups.
type sample struct {
	rows   int64   // added
	groups int64   // found
	first  int64   // of them in the first launch
	passed float64 // fraction of the rows that have a group: at least the groups of the first rows
}

// add notes a launch: its rows and the groups that there are after it.
func (s *sample) add(rows, groups int64) {
	if s.rows == 0 && rows > 0 {
		s.first, s.passed = groups, float64(groups)/float64(rows)
	}
	s.rows += rows
	s.groups = groups
}

// distinct returns the number of groups from which rows are drawn, as if all were as
// frequent. It is unknown if as many rows as those that have passed, whose number has
// an error, might each have made one.
func (s *sample) distinct() (groups float64, known bool) {
	rows, found := s.passed*float64(s.rows), float64(s.groups)
	if found >= rows*(1-2/math.Sqrt(float64(max(s.first, 1)))) && found > 100 {
		return 0, false
	}
	low, high := found, 200*rows // found = n * (1 - exp(-rows/n)) grows with n
	for range 60 {
		n := (low + high) / 2
		if n*-math.Expm1(-rows/n) < found {
			low = n
		} else {
			high = n
		}
	}
	return high, true
}

// expected returns how many groups there will be after further rows, with a margin for
// groups that are less frequent than others.
func (s *sample) expected(further int64) int64 {
	rows := s.passed * float64(s.rows+further)
	if s.rows == 0 {
		return further
	}
	n, known := s.distinct()
	if !known {
		return int64(rows) + 1
	}
	return int64(min(1.25*n*-math.Expm1(-rows/n), rows)) + 1
}
