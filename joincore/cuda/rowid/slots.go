package rowid

import "math/bits"

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
