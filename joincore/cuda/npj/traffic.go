package npj

import "gpujoin/joincore/cuda/launch"

// traffic is what the bytes that a join moves depend on.
type traffic struct {
	rows     [2]int64
	keyBytes int64
	slots    int64
	fetched  []int64 // bytes of values that the probe fetches from the build side's columns
	random   func(n, unit, of int64) int64
}

// build models the making of the table: it is cleared, the keys are read for
// their range and again to be entered. A row's slot is fetched and written
// back: a search mostly ends in the line that it begins in. Its link is written.
func (t traffic) build() int64 {
	table := t.slots * slotBytes
	return table + t.rows[0]*(2*t.keyBytes+4) +
		t.random(t.rows[0], launch.ReadAtRandom, table) + t.random(t.rows[0], launch.WrittenAtRandom, table)
}

// probe models what is fetched at random for so many result rows.
func (t traffic) probe(results int64) int64 {
	bytes := t.random(t.rows[1], launch.ReadAtRandom, t.slots*slotBytes)
	fetch := func(width int64) { bytes += t.random(results, launch.ReadAtRandom, t.rows[0]*width) }
	if t.keyBytes > 4 {
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
