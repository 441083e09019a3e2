package costmodel

import (
	"encoding/json"
	"testing"

	"gpujoin/joincore"
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
		{"half match", residentJoin(4, 2, 4, r, s, 0.5, 0), Materialisation{}},
		{"a quarter matches", residentJoin(4, 2, 4, r, s, 0.25, 0), Materialisation{Probe: Place}},
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

// What the executor refuses is never chosen, however cheap it would be.
func TestRefusedMaterialisationsAreNotChosen(t *testing.T) {
	j := residentJoin(4, 2, 4, 1<<27, 1<<27, 1, 0.9)
	j.Shape = func(m Materialisation) (Materialisation, [2]Carried) {
		m.Bypass = false
		if m.Probe != Carry {
			m.Probe = Carry
		}
		return m, [2]Carried{{Words: 2}, {Words: 8, Fields: 8}}
	}
	if m := DefaultDeviceRates.Materialisation(j); m.Bypass || m.Probe != Carry {
		t.Errorf("%+v, which is refused", m)
	}
	plain := residentJoin(4, 2, 4, 1<<27, 1<<27, 1, 0)
	padded := DefaultDeviceRates.Predict(&j, Materialisation{})
	if direct := DefaultDeviceRates.Predict(&plain, Materialisation{}); padded.MS() <= direct.MS() {
		t.Errorf("padding costs nothing: %v and %v", padded, direct)
	}
}

// Cheaper fetches are fetched by, dearer ones are not.
func TestRatesDecide(t *testing.T) {
	j := residentJoin(4, 2, 4, 1<<27, 1<<28, 1, 0)
	fast := DefaultDeviceRates
	fast.FetchGps *= 100
	fast.CachedGps *= 100
	if m := fast.Materialisation(j); m.Build != Fetch || m.Probe != Fetch {
		t.Errorf("with fetches for nothing: %+v", m)
	}
	j.MatchRatio = 1. / 16
	slow := DefaultDeviceRates
	slow.FetchGps, slow.CachedGps, slow.PlaceGps = 1, 1, 1
	if m := slow.Materialisation(j); m.Build != Carry || m.Probe != Carry {
		t.Errorf("with dear fetches: %+v", m)
	}
}

// Row numbers that one pass leaves in order are read by faster than those of two
// passes where columns are far beyond the cache, and no faster within it.
func TestRowNumbersInOrderAreReadByFaster(t *testing.T) {
	um := Materialisation{Build: Fetch, Probe: Fetch}
	match := func(probe int64, onePass bool) float64 {
		j := residentJoin(4, 2, 4, 1<<18, probe, 1, 0)
		j.Shape = func(m Materialisation) (Materialisation, [2]Carried) {
			return m, [2]Carried{{Words: 1, OnePass: onePass}, {Words: 1, OnePass: onePass}}
		}
		return DefaultDeviceRates.Predict(&j, um).Of(PhaseMatch)
	}
	if one, two := match(1<<28, true), match(1<<28, false); one > 0.8*two {
		t.Errorf("far beyond the cache: %.3f ms after one pass, %.3f after two", one, two)
	}
	if one, two := match(1<<19, true), match(1<<19, false); one != two {
		t.Errorf("within the cache: %.3f ms after one pass, %.3f after two", one, two)
	}
}

// More rows, columns, matches or passes never cost less.
func TestPredictionsGrow(t *testing.T) {
	r := &DefaultDeviceRates
	base := residentJoin(4, 2, 4, 1<<24, 1<<25, 0.5, 0)
	base.SortPasses, base.TableBytes = 3, 1<<28
	for name, change := range map[string]func(*Resident){
		"build rows":   func(j *Resident) { j.Rows[0] *= 2; j.TableBytes *= 2 },
		"probe rows":   func(j *Resident) { j.Rows[1] *= 2 },
		"key":          func(j *Resident) { j.KeyBytes = 8 },
		"columns":      func(j *Resident) { j.Payload = [2][]int{columnsOf(3, 4), columnsOf(3, 4)} },
		"matches":      func(j *Resident) { j.MatchRatio = 1 },
		"many-to-many": func(j *Resident) { j.ResultRows = 1 << 28 },
	} {
		more := base
		change(&more)
		for _, a := range joincore.Algorithms {
			if before, after := r.Named(&base, a), r.Named(&more, a); !(after.MS > before.MS) {
				t.Errorf("more %s: %v takes %.3f ms after %.3f", name, a, after.MS, before.MS)
			}
		}
	}
}

func TestTree(t *testing.T) {
	const r, s = 1 << 27, 1 << 28
	small := residentJoin(4, 2, 4, 1<<16, s, 1, 0)
	small.TableBytes = 1 << 20
	for _, c := range []struct {
		j    Resident
		want string
	}{
		{small, "npj"},
		{residentJoin(4, 1, 4, r, s, 1, 0), "phj-om"},
		{residentJoin(4, 4, 4, r, s, 1, 0), "phj-om"},
		{residentJoin(4, 4, 4, r, s, 0.1, 0), "phj-um"},
		{residentJoin(4, 4, 4, r, s, 0.1, 0.5), "phj-om"},
	} {
		if got := c.j.Tree().String(); got != c.want {
			t.Errorf("%+v: %s in place of %s", c.j, got, c.want)
		}
	}
}

func TestDeviceRatesAreCached(t *testing.T) {
	text, err := json.Marshal(DefaultDeviceRates)
	if err != nil {
		t.Fatal(err)
	}
	var again DeviceRates
	if err := json.Unmarshal(text, &again); err != nil || again != DefaultDeviceRates || again.Check() != nil {
		t.Errorf("%v: %s became %+v, %v", err, text, again, again.Check())
	}
	for _, wrong := range []string{`{}`, string(text[:len(text)-1]) + `,"read_gb":-1}`, string(text[:len(text)-1]) + `,"find_ns":1e300}`} {
		var r DeviceRates
		if err := json.Unmarshal([]byte(wrong), &r); err != nil || r.Check() == nil {
			t.Errorf("%s passes, %v", wrong, err)
		}
	}
}

// Placed payload is fetched a stripe of 16 bytes at a time; many columns are written by more code.
func TestPlacedFetches(t *testing.T) {
	for _, c := range []struct {
		words, columns int
		want           float64
	}{
		{1, 1, 1}, {4, 4, 1}, {4, 2, 1}, {8, 4, 2}, {8, 8, 2 * manyPlaced}, {5, 5, 1.25 * manyPlaced},
	} {
		if got := placedFetches(Carried{Words: c.words}, c.columns); got != c.want {
			t.Errorf("%d words in %d columns: %v in place of %v", c.words, c.columns, got, c.want)
		}
	}
}
