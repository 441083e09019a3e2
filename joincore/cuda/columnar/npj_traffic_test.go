package columnar

import "testing"

// Without a cache each random access moves two sectors, an entered row two more for
// every second row, and a written sector is written back.
func TestNPJTraffic(t *testing.T) {
	const r, s = 1 << 27, 1 << 28
	base := npjTraffic{rows: [2]int64{r, s}, keyBytes: 4, table: 16 * r, looks: true, random: func(n, unit, of int64) int64 { return n * unit }}
	wide, single, array := base, base, base
	wide.keyBytes, single.fetched = 8, []int64{4}
	array.keyBytes, array.table, array.looks, array.array, array.near = 8, 4*r, false, true, r/2
	for name, c := range map[string]struct {
		t       npjTraffic
		results int64
		build   int64 // bytes per build row
		probe   int64 // total bytes of random accesses
	}{
		"gathered later":      {base, s, 16 + 8 + 4 + 96 + 32, 64 * s},
		"keys of 8 bytes":     {wide, s / 4, 16 + 16 + 4 + 96 + 32, 64*s + 64*s/4},
		"one column, fetched": {single, s, 16 + 8 + 4 + 96 + 32, 64*s + 64*s},
		"array":               {array, s, 4 + 8 + 4 + (96+32)/2 + 8/2, 64 * s},
		"several partners":    {base, 8 * s, 16 + 8 + 4 + 96 + 32, 64*s + 64*8*s},
	} {
		if got := c.t.build(); got != c.build*r {
			t.Errorf("%s: the table takes %d bytes in place of %d", name, got, c.build*r)
		}
		if got := c.t.probe(c.results); got != c.probe {
			t.Errorf("%s: the probe takes %d bytes in place of %d", name, got, c.probe)
		}
	}
}
