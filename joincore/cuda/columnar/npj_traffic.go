package columnar

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
