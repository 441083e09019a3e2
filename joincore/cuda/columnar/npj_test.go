package columnar

import (
	"math"
	"testing"
)

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

// An array is never larger than the smallest table; sparse keys have none.
func TestArrayBytes(t *testing.T) {
	for _, c := range []struct {
		low, high   uint64
		rows, bytes int64
	}{
		{7, 1006, 1000, 4000}, {0, 0, 1, 4}, {0, 1999, 1000, 8000}, {0, 2000, 1000, 0}, {5, 14, 1000, 40},
		{math.MaxUint64 - 9, math.MaxUint64, 10, 40}, {0, math.MaxUint64, 1 << 30, 0}, {0, maxTableRows - 1, maxTableRows, 4 * maxTableRows},
		{math.MaxUint64, 0, 0, 0}, // no rows
	} {
		got := KeyRange{Low: c.low, High: c.high}.ArrayBytes(c.rows)
		if got != c.bytes {
			t.Errorf("%d rows from %d to %d: %d bytes in place of %d", c.rows, c.low, c.high, got, c.bytes)
		}
		if least := slotBytes * tableSlots(c.rows, 0); got > least {
			t.Errorf("%d rows: the array has %d bytes, a table %d at least", c.rows, got, least)
		}
	}
}

// A table consists of whole lines and has an empty slot, so that searches end.
func TestSlots(t *testing.T) {
	for _, c := range []struct{ rows, room, slots int64 }{
		{0, 1 << 30, 8}, {1, 1 << 30, 8}, {5, 1 << 30, 16}, {7, 0, 8}, {8, 0, 16}, {1000, 0, 1256}, {1000, 1500 * 8, 1504}, {1 << 27, 1 << 40, 1 << 28}, {maxTableRows, 1 << 40, 1 << 32},
	} {
		if got := tableSlots(c.rows, c.room); got != c.slots {
			t.Errorf("%d rows, room for %d bytes: %d slots in place of %d", c.rows, c.room, got, c.slots)
		}
	}
}
