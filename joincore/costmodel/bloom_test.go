package costmodel

import (
	"math"
	"testing"
)

func TestFilterBytes(t *testing.T) {
	for rows, want := range map[int64]int64{0: 8, 1: 8, 9: 16, 1 << 20: 2 << 20, 1 << 23: 16 << 20, 1<<23 + 7: 16 << 20, 1 << 24: 16 << 20, 1 << 25: 32 << 20, 3e7: 3e7} {
		if got := FilterBytes(rows); got != want {
			t.Errorf("%d rows: a filter of %d bytes in place of %d", rows, got, want)
		}
	}
}

// The closed form is the sum over how many keys a word has.
func TestFilterLeaves(t *testing.T) {
	for _, rows := range []int64{1 << 16, 1 << 22, 3 << 22, 1 << 24, 1 << 26} {
		keys := float64(rows) * 8 / float64(FilterBytes(rows))
		want, poisson := 0.0, math.Exp(-keys)
		for n := range 200 {
			want += poisson * math.Pow(1-math.Pow(31./32, 2*float64(n)), 4)
			poisson *= keys / float64(n+1)
		}
		if got := FilterLeaves(rows); math.Abs(got-want) > 1e-9 || got > 0.035 {
			t.Errorf("%d rows: %g are left in place of %g", rows, got, want)
		}
	}
	if got := FilterLeaves(0); got != 0 {
		t.Errorf("an empty filter leaves %g", got)
	}
}

// A filter is chosen where few rows match and the cache holds it, and only there.
func TestFiltersAreChosenWhereTheyPay(t *testing.T) {
	slow := DefaultDeviceRates
	slow.FilterGps = 20
	for _, c := range []struct {
		name         string
		rates        *DeviceRates
		build, probe int64
		match        float64
		want         bool
	}{
		{"few match", &DefaultDeviceRates, 1 << 24, 1 << 28, 1. / 16, true},
		{"a quarter matches", &DefaultDeviceRates, 1 << 24, 1 << 28, 1. / 4, true},
		{"a small build side", &DefaultDeviceRates, 1 << 20, 1 << 28, 1. / 16, true},
		{"all match", &DefaultDeviceRates, 1 << 24, 1 << 28, 1, false},
		{"most match", &DefaultDeviceRates, 1 << 24, 1 << 28, 0.6, false},
		{"a filter beyond the cache", &DefaultDeviceRates, 1 << 27, 1 << 28, 1. / 16, false},
		{"as many build rows", &DefaultDeviceRates, 1 << 24, 1 << 24, 1. / 16, false},
		{"a device whose cache is slow", &slow, 1 << 24, 1 << 28, 1. / 16, false},
	} {
		j := residentJoin(4, 2, 4, c.build, c.probe, c.match, 0)
		m := c.rates.Materialisation(j)
		if m.Bloom != c.want {
			t.Errorf("%s: %+v", c.name, m)
		}
		m.Bloom = false
		if without := c.rates.Predict(&j, m).MS(); c.want && c.rates.Materialisation(j).MS*FilterHandicap > without {
			t.Errorf("%s: a filter is chosen, and gains nothing over %.3f ms", c.name, without)
		}
	}
}

// What is predicted of a filter is itself and the join of what it leaves, which
// grows with the matches.
func TestPredictionsWithAFilter(t *testing.T) {
	r, m := &DefaultDeviceRates, Materialisation{Bloom: true}
	before := 0.0
	for _, match := range []float64{0, 0.01, 0.1, 0.3, 0.9, 1} {
		j := residentJoin(4, 2, 4, 1<<22, 1<<27, match, match/2)
		p := r.Predict(&j, m)
		filter, all := p.Of(PhaseFilter), p.MS()
		if least := float64(j.Rows[1]) / r.FilterGps / perMS; !(filter >= least) || !(all > before) || all <= filter {
			t.Errorf("%g of the rows match: %v", match, p)
		}
		before = all
		j.ResultRows = 1 << 29
		if more := r.Predict(&j, m).MS(); !(more > all) {
			t.Errorf("%g of the rows match: results of many take %g ms, of few %g", match, more, all)
		}
	}
}

func TestSectorBytes(t *testing.T) {
	if got := SectorBytes(1000, 1, 4); got != 4000 {
		t.Errorf("of all rows %g bytes are read", got)
	}
	if got := SectorBytes(1000, 0, 4); got != 0 {
		t.Errorf("of none %g", got)
	}
	if got := SectorBytes(1e6, 1e-6, 4); math.Abs(got-64) > 0.1 {
		t.Errorf("of one %g", got)
	}
}
