package auto

import (
	"bufio"
	"fmt"
	"math"
	"math/bits"
	"os"
	"strconv"
	"strings"
	"testing"

	"gpujoin/joincore"
	"gpujoin/joincore/choose"
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

func widthsOf(n, width int) (w []int) {
	for range n {
		w = append(w, width)
	}
	return w
}

// caseOf is a case of bench-gpu, as a sample shows it; the hot shares are those
// that samples of its Zipf distributions have.
func caseOf(t *testing.T, name string) choose.Resident {
	const r, s = 1 << 27, 1 << 28
	j := func(key, columns, width int, build, probe int64) choose.Resident {
		return choose.Resident{KeyBytes: key, Rows: [2]int64{build, probe}, Payload: [2][]int{widthsOf(columns, width), widthsOf(columns, width)}, MatchRatio: 1}
	}
	out := j(4, 2, 4, r, s)
	switch name {
	case "4B-1+1":
		out = j(4, 1, 4, r, s)
	case "4B-2+2":
	case "4B-4+4":
		out = j(4, 4, 4, r, s)
	case "4B/8B-2+2":
		out = j(4, 2, 8, r, s)
	case "8B-2+2":
		out = j(8, 2, 8, r, s)
	case "match-1/4":
		out.MatchRatio = 1. / 4
	case "match-1/16":
		out.MatchRatio = 1. / 16
	case "zipf-1.0":
		out = j(4, 2, 4, r, r)
		out.Hot = 0.27
	case "zipf-1.5":
		out = j(4, 2, 4, r, r)
		out.Hot = 0.9
	case "2^23x2^24":
		out = j(4, 2, 4, 1<<23, 1<<24)
	case "2^20x2^21":
		out = j(4, 2, 4, 1<<20, 1<<21)
	case "m:n-8x8":
		out = j(4, 2, 4, 1<<24, 1<<24)
		out.ResultRows = 1 << 27
	case "mixed":
		out = choose.Resident{KeyBytes: 4, Rows: [2]int64{1 << 25, 1 << 26}, Payload: [2][]int{{1, 8, 2}, {16, 4, 1}}, MatchRatio: 1}
	default:
		n, err := strconv.Atoi(strings.TrimPrefix(name, "step-"))
		if err != nil {
			t.Fatalf("no case %s", name)
		}
		out = choose.Resident{KeyBytes: 4, Rows: [2]int64{1 << 25, 1 << 27}, Payload: [2][]int{{4}, widthsOf(n, 4)}, MatchRatio: 1}
	}
	out.Shape = shapeThen(name, out)
	out.TableBytes = 16 << bits.Len64(uint64(out.Rows[0]-1))
	out.SortPasses = 3
	if out.Rows[0] <= 1<<20 {
		out.SortPasses = 2
	}
	return out
}

// shapeThen is what phj made of payload on the day of the measurements, which
// hold for no other day.
func shapeThen(name string, j choose.Resident) func(choose.Materialisation) (choose.Materialisation, [2]choose.Carried) {
	return func(m choose.Materialisation) (choose.Materialisation, [2]choose.Carried) {
		const padded = 8 // words of the widest fields
		words := [2]int{fieldWords(j.Payload[0]), fieldWords(j.Payload[1])}
		var c [2]choose.Carried
		switch {
		case name == "mixed": // both would take too much memory
			m.Probe, c[0].Fields = choose.Fetch, words[0]
		case words[1] > 4 && words[1] < padded && j.Payload[1][0] == 4:
			m.Probe = choose.Fetch // as fields, a few of which are empty, it would
		case words[1] == padded && j.Payload[1][0] == 4:
			words[0], c[0].Fields, c[1].Fields = 2, 1, padded
		}
		for i, t := range [2]choose.Transform{m.Build, m.Probe} {
			c[i].Words = words[i]
			if t == choose.Fetch {
				c[i] = choose.Carried{Words: 1}
			}
		}
		if one := name == "2^20x2^21" && m.Build == choose.Fetch && m.Probe == choose.Fetch; one {
			c[0].OnePass, c[1].OnePass = true, true
		}
		return m, c
	}
}

func fieldWords(widths []int) (n int) {
	for _, w := range widths {
		n += (w + 3) / 4
	}
	return n
}

// fetchedKey is what a step of a sequence does before it joins: it fetches a
// foreign key of each fact, in order where joins have left them so.
func fetchedKey(r *choose.DeviceRates, m measurement) float64 {
	const facts = 1 << 27
	switch {
	case m.name == "step-1" || !strings.HasPrefix(m.name, "step-"):
		return 0
	case m.algorithm == "npj":
		return facts * 12 / r.ReadGB / 1e6
	}
	return facts / r.FetchGps / 1e6
}

// method returns the algorithm of a line with what the model gives it.
func method(r *choose.DeviceRates, j *choose.Resident, name string) choose.Method {
	for _, a := range []joincore.Algorithm{joincore.NPJ, joincore.PHJUM, joincore.PHJOM, joincore.SMJUM, joincore.SMJOM} {
		if a.String() == name {
			return r.Named(j, a)
		}
	}
	m := choose.Method{Algorithm: joincore.PHJOM}
	if strings.Contains(name, "bypass") {
		m.Materialisation = choose.Materialisation{Build: choose.Fetch, Bypass: true}
	} else { // phj-om/um
		m.Probe = choose.Fetch
	}
	m.Prediction = r.Predict(j, m.Materialisation)
	m.MS = m.Prediction.MS()
	return m
}

func TestPredictionsAreNearMeasurements(t *testing.T) {
	r := &choose.DefaultDeviceRates
	var b strings.Builder
	for _, m := range measurements(t) {
		j := caseOf(t, m.name)
		got := method(r, &j, m.algorithm)
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

// What is chosen of each case is what took least, or as good as that.
func TestTheBestIsPicked(t *testing.T) {
	r := &choose.DefaultDeviceRates
	least, took := map[string]float64{}, map[string]float64{}
	for _, m := range measurements(t) {
		if best, ok := least[m.name]; !ok || m.ms < best {
			least[m.name] = m.ms
		}
		took[m.name+" "+m.algorithm] = m.ms
	}
	for name, best := range least {
		m := r.Pick(caseOf(t, name))
		ms, ok := took[name+" "+algorithmName(m)]
		if !ok || ms > 1.03*best {
			t.Errorf("%s: %s is picked, which took %.2f ms (%v), the best %.2f", name, algorithmName(m), ms, ok, best)
		}
	}
}

// algorithmName is how bench-gpu names a method.
func algorithmName(m choose.Method) string {
	switch {
	case m.Bypass:
		return "phj-um/om+bypass"
	case m.Algorithm == joincore.PHJOM && m.Probe == choose.Fetch:
		return "phj-om/um"
	}
	return m.Algorithm.String()
}
