package choose

import (
	"encoding/json"
	"math"
	"testing"
)

func columnsOf(n, width int) (w []int) {
	for range n {
		w = append(w, width)
	}
	return w
}

func residentJoin(key, columns, width int, build, probe int64, match, hot float64) Resident {
	return Resident{KeyBytes: key, Rows: [2]int64{build, probe}, Payload: [2][]int{columnsOf(columns, width), columnsOf(columns, width)}, MatchRatio: match, Hot: hot}
}

// What was measured on an H200, which the default rates are of, in ms.
func TestPredictionsAreNearMeasurements(t *testing.T) {
	const r, s = 1 << 27, 1 << 28
	om, um := Materialisation{}, Materialisation{Build: Fetch, Probe: Fetch}
	for _, c := range []struct {
		name     string
		j        Resident
		m        Materialisation
		measured float64
	}{
		{"1+1", residentJoin(4, 1, 4, r, s, 1, 0), om, 7.1},
		{"2+2", residentJoin(4, 2, 4, r, s, 1, 0), om, 10.3},
		{"4+4", residentJoin(4, 4, 4, r, s, 1, 0), om, 15.9},
		{"8B payload", residentJoin(4, 2, 8, r, s, 1, 0), om, 15.7},
		{"8B", residentJoin(8, 2, 8, r, s, 1, 0), om, 18.3},
		{"1/4", residentJoin(4, 2, 4, r, s, 0.25, 0), om, 9.6},
		{"1/16", residentJoin(4, 2, 4, r, s, 1./16, 0), om, 9.1},
		{"1+1 um", residentJoin(4, 1, 4, r, s, 1, 0), um, 18.9},
		{"1/4 um", residentJoin(4, 2, 4, r, s, 0.25, 0), um, 12.5},
		{"hot", residentJoin(4, 2, 4, r, r, 1, 0.9), Materialisation{Build: Fetch, Bypass: true}, 5.5},
		{"less hot", residentJoin(4, 2, 4, r, r, 1, 0.27), Materialisation{Bypass: true}, 7.4},
	} {
		if got := DefaultDeviceRates.Predict(c.j, c.m); math.Abs(got-c.measured) > 0.15*c.measured {
			t.Errorf("%s: %.2f ms predicted, %.2f measured", c.name, got, c.measured)
		}
	}
}

func TestMaterialisation(t *testing.T) {
	const r, s = 1 << 27, 1 << 28
	for _, c := range []struct {
		name string
		j    Resident
		want Materialisation
	}{
		{"all match", residentJoin(4, 2, 4, r, s, 1, 0), Materialisation{}},
		{"all match, wide", residentJoin(4, 4, 4, r, s, 1, 0), Materialisation{}},
		{"all match, 8 bytes", residentJoin(8, 2, 8, r, s, 1, 0), Materialisation{}},
		{"a quarter matches", residentJoin(4, 2, 4, r, s, 0.25, 0), Materialisation{}},
		{"few match", residentJoin(4, 2, 4, r, s, 1./16, 0), Materialisation{Build: Fetch, Probe: Fetch}},
		{"some skew", residentJoin(4, 2, 4, r, r, 1, 0.27), Materialisation{}},
		{"few keys are most rows", residentJoin(4, 2, 4, r, r, 1, 0.9), Materialisation{Build: Fetch, Bypass: true}},
	} {
		got := DefaultDeviceRates.Materialisation(c.j)
		if got.MS <= 0 {
			t.Errorf("%s: predicted %v ms", c.name, got.MS)
		}
		got.MS = 0
		if got != c.want {
			t.Errorf("%s: %+v in place of %+v", c.name, got, c.want)
		}
	}
}

// Cheaper fetches are fetched by, dearer ones are not.
func TestRatesDecide(t *testing.T) {
	j := residentJoin(4, 2, 4, 1<<27, 1<<28, 1, 0)
	fast := DefaultDeviceRates
	fast.FetchGps *= 100
	if m := fast.Materialisation(j); m.Build != Fetch || m.Probe != Fetch {
		t.Errorf("with fetches for nothing: %+v", m)
	}
	j.MatchRatio = 1. / 16
	slow := DefaultDeviceRates
	slow.FetchGps, slow.NearGps = 1, 1
	if m := slow.Materialisation(j); m.Build != Carry || m.Probe != Carry {
		t.Errorf("with dear fetches: %+v", m)
	}
}

func TestDeviceRatesAreCached(t *testing.T) {
	text, err := json.Marshal(DefaultDeviceRates)
	if err != nil {
		t.Fatal(err)
	}
	var again DeviceRates
	if err := json.Unmarshal(text, &again); err != nil || again != DefaultDeviceRates {
		t.Errorf("%v: %s became %+v", err, text, again)
	}
}
