package selector

import (
	"bufio"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"

	"gpujoin/joincore"
	"gpujoin/joincore/costmodel"
)

// measurement is a line of testdata/h200.txt.
type measurement struct {
	name, algorithm string
	ms              float64
	phases          map[string]float64
}

func measurements(t *testing.T) (list []measurement) {
	f, err := os.Open("testdata/h200.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	number := func(text string) float64 {
		v, err := strconv.ParseFloat(text, 64)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	for s := bufio.NewScanner(f); s.Scan(); {
		if strings.HasPrefix(s.Text(), "#") {
			continue
		}
		fields := strings.Split(s.Text(), "\t")
		m := measurement{name: fields[0], algorithm: fields[1], ms: number(fields[2]), phases: map[string]float64{}}
		for _, phase := range strings.Split(fields[3], "; ") {
			if at := strings.LastIndex(phase, " "); at > 0 {
				m.phases[phase[:at]] = number(phase[at+1:])
			}
		}
		list = append(list, m)
	}
	return list
}

// fetchedKey is the time of a step of a sequence before its join: it gathers a foreign
// key of each fact, clustered if earlier joins kept the facts in order.
func fetchedKey(r *costmodel.DeviceRates, m measurement) float64 {
	const facts = 1 << 27
	switch {
	case m.name == "step-1" || !strings.HasPrefix(m.name, "step-"):
		return 0
	case m.algorithm == "npj":
		return facts * 12 / r.ReadGB / 1e6
	}
	return facts / r.FetchGps / 1e6
}

// transforms maps parts of algorithms' names to how a side's payload reaches the
// result.
var transforms = map[string]costmodel.Transform{"om": costmodel.Carry, "place": costmodel.Place, "um": costmodel.Fetch}

// method returns the algorithm of a line as executed, with the model's prediction.
func method(t *testing.T, r *costmodel.DeviceRates, j *costmodel.Resident, name string) costmodel.Method {
	for _, a := range []joincore.Algorithm{joincore.NPJ, joincore.SMJUM, joincore.SMJOM} {
		if a.String() == strings.TrimSuffix(name, "/array") {
			return r.Named(j, a)
		}
	}
	sides, round, _ := strings.Cut(strings.TrimPrefix(name, "phj-"), "+")
	build, probe, differ := strings.Cut(sides, "/")
	if !differ {
		probe = build
	}
	var known [2]bool
	m := costmodel.Method{Algorithm: joincore.PHJOM}
	m.Build, known[0] = transforms[build]
	m.Probe, known[1] = transforms[probe]
	m.Bypass, m.Bloom = round == "bypass", round == "bloom"
	if !known[0] || !known[1] || round != "" && !m.Bypass && !m.Bloom {
		t.Fatalf("no algorithm %s", name)
	}
	if m.Build == costmodel.Fetch && m.Probe == costmodel.Fetch {
		m.Algorithm = joincore.PHJUM
	}
	m.Materialisation, _ = j.Shape(m.Materialisation)
	m.Prediction = r.Predict(j, m.Materialisation)
	m.MS = m.Prediction.MS()
	return m
}

func TestPredictionsAreNearMeasurements(t *testing.T) {
	r := &costmodel.DefaultDeviceRates
	var b strings.Builder
	for _, m := range measurements(t) {
		j := caseOf(t, m.name)
		got := method(t, r, &j, m.algorithm)
		ms := got.MS + fetchedKey(r, m)
		fmt.Fprintf(&b, "%-12s %-16s %8.3f %8.3f %+5.0f %%", m.name, m.algorithm, m.ms, ms, 100*(ms/m.ms-1))
		for _, p := range got.Prediction {
			fmt.Fprintf(&b, "; %s %.3f of %.3f", p.Name, p.MS, m.phases[p.Name])
		}
		b.WriteByte('\n')
		if math.Abs(ms-m.ms) > 0.25*m.ms {
			t.Errorf("%s, %s: %.2f ms predicted, %.2f measured", m.name, m.algorithm, ms, m.ms)
		}
	}
	t.Log("\n" + b.String())
}

// The algorithm chosen for each case was the fastest, or almost as fast.
func TestTheBestIsPicked(t *testing.T) {
	r := &costmodel.DefaultDeviceRates
	least, took := map[string]float64{}, map[string]float64{}
	for _, m := range measurements(t) {
		if best, ok := least[m.name]; !ok || m.ms < best {
			least[m.name] = m.ms
		}
		j := caseOf(t, m.name)
		if same(method(t, r, &j, m.algorithm), r.Pick(j)) {
			took[m.name] = m.ms
		}
	}
	for name, best := range least {
		if ms, ok := took[name]; !ok || ms > 1.03*best {
			m := r.Pick(caseOf(t, name))
			t.Errorf("%s: %v is picked, %+v, which took %.2f ms (%v), the best %.2f", name, m.Algorithm, m.Materialisation, ms, ok, best)
		}
	}
}

// same reports whether two methods execute the same algorithm.
func same(a, b costmodel.Method) bool {
	a.Materialisation.MS, b.Materialisation.MS = 0, 0
	return a.Algorithm == b.Algorithm && a.Materialisation == b.Materialisation
}
