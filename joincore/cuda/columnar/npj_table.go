package columnar

import "math"

// tableDescriptor mirrors gj_table of kernels/layout/sort.h, where the fields
// are documented.
type tableDescriptor struct {
	Rows, Key     [2]uint64
	Slots, Table  uint64
	Range         uint64
	Next, Repeats uint64
	Result        Result
}

// maxTableRows is the maximum number of build rows: slot numbers have 32 bits.
const maxTableRows = 1 << 31

// tableSlots returns the number of slots of a table, in whole lines: half full if `room`
// bytes suffice for that, otherwise fuller, up to four fifths.
func tableSlots(buildRows, room int64) int64 {
	least := max(min(2*buildRows, room/slotBytes), buildRows+buildRows/4, buildRows+1)
	return wholeLines(least)
}

// wholeLines rounds slots up to whole lines.
func wholeLines(slots int64) int64 { return (slots + lineSlots - 1) / lineSlots * lineSlots }

const (
	slotBytes = 8
	lineSlots = 8 // slots that a search reads together
)

// TableBytes returns the bytes of the table for a number of build rows if memory
// suffices, or 0 if no table can be that large.
func TableBytes(buildRows int64) int64 {
	if buildRows > maxTableRows {
		return 0
	}
	return slotBytes * tableSlots(buildRows, math.MaxInt64)
}

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

// npjTraffic has the parameters of a join's memory traffic.
type npjTraffic struct {
	rows     [2]int64
	keyBytes int64
	table    int64   // bytes
	looks    bool    // the join determines the range of the keys
	array    bool    // the table is known to be an array
	near     int64   // build rows entered near their predecessor
	fetched  []int64 // value bytes of build columns that the probe gathers
	random   func(n, unit, of int64) int64
}

// build models the construction of the table: it is cleared, and the keys are read for
// their range, if unknown, and again to be entered. A row's slot is fetched and
// written back; most searches end in the line where they begin. Fetches exceed the
// slots' sectors by half: ncu counts 102 bytes per row instead of 64. The reason is
// that an H200's L2 cache has two halves, and atomic operations execute in the half
// that belongs to the memory: for every second row the preceding read has brought the
// slot into the other half. Each row's link is written.
func (t npjTraffic) build() int64 {
	apart := t.rows[0] - t.near
	bytes := t.table + t.near*2*ArrayWordBytes + t.rows[0]*(t.keyBytes+4) +
		t.random(apart, ReadAtRandom*3/2, t.table) + t.random(apart, WrittenAtRandom, t.table)
	if t.looks {
		bytes += t.rows[0] * t.keyBytes
	}
	return bytes
}

// probe models the random accesses for the given number of result rows.
func (t npjTraffic) probe(results int64) int64 {
	bytes := t.random(t.rows[1], ReadAtRandom, t.table)
	fetch := func(width int64) { bytes += t.random(results, ReadAtRandom, t.rows[0]*width) }
	if t.keyBytes > 4 && !t.array {
		fetch(t.keyBytes) // the tag is only a part of the key
	}
	if results > t.rows[1] {
		fetch(4) // links, because keys repeat
	}
	for _, width := range t.fetched {
		fetch(width)
	}
	return bytes
}
