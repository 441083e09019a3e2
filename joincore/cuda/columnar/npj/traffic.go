package npj

import "gpujoin/joincore/cuda/columnar/launch"

// traffic is what the bytes that a join moves depend on.
type traffic struct {
	rows     [2]int64
	keyBytes int64
	table    int64   // bytes
	looks    bool    // for the range of the keys
	array    bool    // the table is known to be one
	near     int64   // build rows that are entered near the row before
	fetched  []int64 // bytes of values that the probe fetches from the build side's columns
	random   func(n, unit, of int64) int64
}

// build models the making of the table: it is cleared, the keys are read for
// their range, where that is not known, and again to be entered. A row's slot is
// fetched and written back: a search mostly ends in the line that it begins in.
// Half as much again is fetched as the slots' sectors: ncu counts 102 bytes a row
// where 64 would do. An H200's L2 has two halves, and atomic operations are done
// in the one that belongs to the memory: what a look brought to the other, for
// every second row, would be fetched again. Its link is written.
func (t traffic) build() int64 {
	apart := t.rows[0] - t.near
	bytes := t.table + t.near*2*WordBytes + t.rows[0]*(t.keyBytes+4) +
		t.random(apart, launch.ReadAtRandom*3/2, t.table) + t.random(apart, launch.WrittenAtRandom, t.table)
	if t.looks {
		bytes += t.rows[0] * t.keyBytes
	}
	return bytes
}

// probe models what is fetched at random for so many result rows.
func (t traffic) probe(results int64) int64 {
	bytes := t.random(t.rows[1], launch.ReadAtRandom, t.table)
	fetch := func(width int64) { bytes += t.random(results, launch.ReadAtRandom, t.rows[0]*width) }
	if t.keyBytes > 4 && !t.array {
		fetch(t.keyBytes) // the tag is a part of the key only
	}
	if results > t.rows[1] {
		fetch(4) // keys repeat: links
	}
	for _, width := range t.fetched {
		fetch(width)
	}
	return bytes
}
