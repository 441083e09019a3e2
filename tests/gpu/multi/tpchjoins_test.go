package multi

import (
	"math"
	"slices"
	"testing"
)

// A probe row has as many partners on average as the query's data say, at any scale factor.
func TestTPCHResults(t *testing.T) {
	for _, sf := range []float64{1, 10, 100, mostTPCH} {
		for _, j := range tpchJoins() {
			r := j.at(sf)
			got := float64(r.probe) * float64(r.build) / float64(r.domain)
			if want := float64(j.result) * sf; math.Abs(got-want) > want/1000 {
				t.Errorf("%s at %g: %.0f rows, want %.0f", j.name, sf, got, want)
			}
			if r.distinct > r.build || r.distinct > r.domain || r.build > r.probe {
				t.Errorf("%s at %g: %+v", j.name, sf, r)
			}
			if r.probe >= 1<<32-1<<20 {
				t.Errorf("%s at %g: %d rows have no numbers of 32 bits", j.name, sf, r.probe)
			}
		}
	}
}

// The tables of scale factor 100 have the rows of the standard, and keys of 4 bytes suffice.
func TestTPCHAtHundred(t *testing.T) {
	want := map[string][2]int64{"q5-orders-lineitem": {4_600_800, 600_121_500}, "q12-lineitem-orders": {3_098_800, 150_000_000}, "q14-lineitem-part": {7_598_300, 20_000_000}}
	for _, j := range tpchJoins() {
		r := j.at(100)
		if w, ok := want[j.name]; ok && w != [2]int64{r.build, r.probe} {
			t.Errorf("%s: %d x %d rows, want %d", j.name, r.build, r.probe, w)
		}
		if r.key != 4 || slices.Contains(r.buildWidths, tpchOrder) || slices.Contains(r.probeWidths, tpchOrder) {
			t.Errorf("%s: %+v", j.name, r)
		}
	}
}

// Keys that exceed 2^32 have 8 bytes, also as payload; a small scale factor leaves each side a row.
func TestTPCHScales(t *testing.T) {
	for _, j := range tpchJoins() {
		large, small := j.at(750), j.at(1e-9)
		if wide := j.largest == tpchOrders; (large.key == 8) != wide {
			t.Errorf("%s: keys of %d bytes at 750", j.name, large.key)
		}
		if i := slices.Index(j.probeWidths, tpchOrder); i >= 0 && large.probeWidths[i] != 8 {
			t.Errorf("%s: keys of orders have %d bytes at 750", j.name, large.probeWidths[i])
		}
		if small.build != 1 || small.probe != 1 || small.distinct != 1 || small.domain < 1 || small.key != 4 {
			t.Errorf("%s: %+v", j.name, small)
		}
	}
}

func TestBoundBy(t *testing.T) {
	for _, c := range []struct {
		how            string
		one, ms, links float64
		want           string
	}{
		{"exchange", 10, 6.25, 5, ""},
		{alone, 1, 1, 0, "its size: fastest on one device"},
		{"exchange", 10, 8, 1.5, "links: 1.50 ms of 8.00"},
		{"replicate", 1, 0.9, 0.1, "its size: several devices add 0.40 ms to even parts"},
	} {
		if got := boundBy(c.how, c.one, c.ms, c.links, 2); got != c.want {
			t.Errorf("%+v: %q", c, got)
		}
	}
}
