package mesh

import (
	"errors"
	"math"
	"reflect"
	"slices"
	"testing"
)

func preset(t *testing.T, name string) *Mesh {
	t.Helper()
	m, err := Preset(name)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// What section 2.2 of the MG-Join paper says of the machine.
func TestDGX1IsThePapersMachine(t *testing.T) {
	m := preset(t, "dgx1")
	sublinks := 0
	for _, l := range m.Links {
		if l.Kind == NVLink && l.From < l.To {
			sublinks += l.Width
		}
	}
	if sublinks != 24 {
		t.Errorf("%d sub-links", sublinks)
	}
	var slow, direct int
	for from := range m.GPUs() {
		for to := range from {
			for _, h := range m.Direct(from, to) {
				direct++
				if h.Kind == PCIe {
					slow++
				}
			}
		}
	}
	if slow != 28 || direct != 44 {
		t.Errorf("%d of %d direct routes use PCIe", slow, direct)
	}
	seen := map[int]int{}
	for from := range m.GPUs() {
		for to := range m.GPUs() {
			if from == to {
				continue
			}
			fabric := 0
			for _, r := range m.Routes(from, to, 3) {
				if r.Fabric() {
					fabric++
				}
			}
			seen[fabric]++
		}
	}
	for n := range seen {
		if n != 12 && n != 16 && n != 20 {
			t.Errorf("%d NVLink routes between two GPUs", n)
		}
	}
	if len(seen) != 3 {
		t.Errorf("NVLink routes a pair: %v", seen)
	}
	half, gbps := m.Bisection()
	if half != 0b1111 && half != 0b11110000 || gbps != 138 {
		t.Errorf("bisection %b: %v GB/s", half, gbps)
	}
}

func TestStagedHopsCrossTheSlowestLink(t *testing.T) {
	m := preset(t, "dgx1")
	h := m.Direct(0, 5)
	if len(h) != 1 || !h[0].Staged || h[0].Fabric || h[0].GBps != 11 || len(h[0].Links) != 5 {
		t.Fatalf("%+v", h)
	}
	if h := m.Direct(0, 1); len(h) != 2 || !h[0].Fabric || h[0].GBps != 23 || h[1].Staged || h[1].Kind != PCIe {
		t.Errorf("%+v %+v", h[0], h[1])
	}
	if got := m.Effective(m.Direct(0, 1)[0], halfVolta); got != 11.5 {
		t.Errorf("half of the bandwidth is %v", got)
	}
}

func TestRoutes(t *testing.T) {
	for _, name := range Presets() {
		m := preset(t, name)
		for from := range m.GPUs() {
			for to := range m.GPUs() {
				routes := m.Routes(from, to, 3)
				if from == to {
					if len(routes) != 0 {
						t.Errorf("%s: a route from a GPU to itself", name)
					}
					continue
				}
				if len(routes) == 0 {
					t.Errorf("%s: no route from %d to %d", name, from, to)
				}
				for i, r := range routes {
					if r.GPUs[0] != from || r.GPUs[len(r.GPUs)-1] != to || len(r.Hops) != len(r.GPUs)-1 || len(r.GPUs) > 5 {
						t.Fatalf("%s: %+v", name, r)
					}
					if sorted := slices.Clone(r.GPUs); len(slices.Compact(func() []int { slices.Sort(sorted); return sorted }())) != len(r.GPUs) {
						t.Errorf("%s: a circle: %v", name, r.GPUs)
					}
					for j, h := range r.Hops {
						if h.From != r.GPUs[j] || h.To != r.GPUs[j+1] || len(r.Hops) > 1 && !h.Fabric {
							t.Errorf("%s: %v over %+v", name, r.GPUs, h)
						}
					}
					if i > 0 && len(r.Hops) < len(routes[i-1].Hops) {
						t.Errorf("%s: routes are not sorted", name)
					}
				}
				if len(m.Routes(from, to, 0)) != len(m.Direct(from, to)) {
					t.Errorf("%s: routes without GPUs between that are not direct", name)
				}
			}
		}
	}
}

func TestRestrictKeepsLinksAmongTheRest(t *testing.T) {
	m := preset(t, "dgx1")
	part, err := m.Restrict([]int{0, 3, 4, 7})
	if err != nil {
		t.Fatal(err)
	}
	if part.GPUs() != 4 || part.Direct(0, 1)[0].GBps != 46 || part.Direct(1, 3)[0].GBps != 23 || part.Direct(0, 3)[0].Fabric {
		t.Errorf("%+v", part.Direct(0, 1)[0])
	}
	for _, set := range [][]int{{0, 0}, {8}, {-1}, nil} {
		if _, err := m.Restrict(set); !errors.Is(err, ErrInvalid) {
			t.Errorf("%v: %v", set, err)
		}
	}
}

func TestCuts(t *testing.T) {
	for _, c := range []struct {
		mesh string
		half uint64
		gbps float64
	}{
		{"dgx1", 0b1, 138},         // all sub-links of one GPU
		{"dgx1", 0b1111, 138},      // what connects the quads
		{"hgx-h200", 0b1, 397},     // through the switch: the port of one
		{"hgx-h200", 0b111, 1191},  // of three
		{"ac922", 0b11, 64},        // the sockets' link, though each GPU has 75
		{"ac922", 0b1, 150},        // to the neighbour and to the socket
		{"dgx-station", 0b1, 92},   //
		{"gh200", 0b11, 4 * 150.0}, // C2C does not count where the fabric joins
	} {
		if got := preset(t, c.mesh).Cut(c.half); math.Abs(got-c.gbps) > 1e-6 {
			t.Errorf("%s %b: %v GB/s, not %v", c.mesh, c.half, got, c.gbps)
		}
	}
}

func TestTightestCutOfUniformTraffic(t *testing.T) {
	m := preset(t, "dgx1")
	traffic := make([][]float64, 8)
	for i := range traffic {
		traffic[i] = make([]float64, 8)
		for j := range traffic[i] {
			if i != j {
				traffic[i][j] = 1e9
			}
		}
	}
	half, seconds := m.Tightest(traffic)
	// 16 of 56 flows cross six sub-links of 23 GB/s.
	if half != 0b1111 || math.Abs(seconds-16.0/138) > 1e-9 {
		t.Errorf("%b: %v s", half, seconds)
	}
}

func TestBest(t *testing.T) {
	for _, c := range []struct {
		mesh string
		n    int
		want []int
	}{
		{"ac922", 2, []int{0, 1}}, // 75 GB/s, not 64 over the sockets
		{"ac922", 4, []int{0, 1, 2, 3}},
		{"dgx1", 1, []int{0}},
		{"dgx1", 8, []int{0, 1, 2, 3, 4, 5, 6, 7}},
		{"dgx1", 9, nil},
		{"dgx1", 0, nil},
		{"hgx-h200", 4, []int{0, 1, 4, 5}}, // three of a socket would share 155 GB/s
	} {
		if got := preset(t, c.mesh).Best(c.n); !slices.Equal(got, c.want) {
			t.Errorf("%s: best %d are %v, not %v", c.mesh, c.n, got, c.want)
		}
	}
	// Two GPUs of a DGX-1: a double link, and each its own uplink.
	pair := preset(t, "dgx1").Best(2)
	m := preset(t, "dgx1")
	if h := m.Direct(pair[0], pair[1])[0]; h.GBps != 46 || pair[0]/2 == pair[1]/2 {
		t.Errorf("%v with %v GB/s", pair, h.GBps)
	}
}

// A machine of 16 equal GPUs takes the search that is not exact.
func TestBestOfMany(t *testing.T) {
	var b builder
	b.gpus(MostGPUs)
	b.switched(MostGPUs, 6, 140, halfVolta)
	m, err := b.mesh("dgx2")
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{2, 3, 5} {
		if got := m.Best(n); len(got) != n || !slices.IsSorted(got) {
			t.Errorf("%v", got)
		}
	}
}

func TestFilesKeepEverything(t *testing.T) {
	for _, name := range Presets() {
		m := preset(t, name)
		text, err := m.Encode()
		if err != nil {
			t.Fatal(err)
		}
		again, err := Decode(text)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(m.Nodes, again.Nodes) || !reflect.DeepEqual(m.Links, again.Links) ||
			!reflect.DeepEqual(m.Pools, again.Pools) || m.Engines != again.Engines || m.Name != again.Name {
			t.Errorf("%s changed on its way through a file", name)
		}
	}
}

func TestFilesAreDistrusted(t *testing.T) {
	node := `"nodes":[{"kind":"gpu","name":"a"},{"kind":"gpu","name":"b"}]`
	link := `{"from":0,"to":1,"kind":"nvlink","width":1,"gbps":23,"half":1,"latency_ns":1}`
	good := `{"version":1,` + node + `,"links":[` + link + `]}`
	if _, err := Decode([]byte(good)); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{
		``, `[]`, `{}`, good + `x`, good + good,
		`{"version":2,` + node + `}`,
		`{"version":1,"links":[` + link + `]}`,
		`{"version":1,` + node + `,"future":1}`,
		`{"version":1,` + node + `,"engines":-1}`,
		`{"version":1,"nodes":[{"kind":"host","name":"a"},{"kind":"gpu","name":"b"}]}`,
		`{"version":1,"nodes":[{"kind":"tpu","name":"a"}]}`,
		`{"version":1,` + node + `,"links":[` + link + `,` + link + `]}`,
		`{"version":1,` + node + `,"links":[{"from":0,"to":2,"kind":"nvlink","width":1,"gbps":23}]}`,
		`{"version":1,` + node + `,"links":[{"from":0,"to":0,"kind":"nvlink","width":1,"gbps":23}]}`,
		`{"version":1,` + node + `,"links":[{"from":0,"to":1,"kind":"nvlink","width":0,"gbps":23}]}`,
		`{"version":1,` + node + `,"links":[{"from":0,"to":1,"kind":"nvlink","width":1,"gbps":0}]}`,
		`{"version":1,` + node + `,"links":[{"from":0,"to":1,"kind":"nvlink","width":1,"gbps":1e99}]}`,
		`{"version":1,` + node + `,"links":[{"from":0,"to":1,"kind":"nvlink","width":1,"gbps":1,"half":-1}]}`,
		`{"version":1,` + node + `,"links":[{"from":0,"to":1,"kind":"nvlink","width":1,"gbps":1,"latency_ns":-1}]}`,
		`{"version":1,` + node + `,"links":[{"from":0,"to":1,"kind":"nvlink","width":1,"gbps":1,"pool":1}]}`,
		`{"version":1,` + node + `,"pools":[{"name":"p","gbps":-1}]}`,
		string(make([]byte, MostBytes+1)),
	} {
		if _, err := Decode([]byte(text)); !errors.Is(err, ErrInvalid) {
			t.Errorf("%.80s: %v", text, err)
		}
	}
}

func FuzzDecode(f *testing.F) {
	for _, name := range Presets() {
		m, err := Preset(name)
		if err != nil {
			f.Fatal(err)
		}
		text, err := m.Encode()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		m, err := Decode(text)
		if err != nil {
			if !errors.Is(err, ErrInvalid) {
				t.Fatal(err)
			}
			return
		}
		// What is accepted can be used.
		for from := range m.GPUs() {
			for to := range m.GPUs() {
				for _, r := range m.Routes(from, to, 1) {
					if r.GBps() <= 0 || r.Latency() < 0 {
						t.Fatalf("%+v", r)
					}
				}
			}
		}
		if again, err := m.Encode(); err != nil {
			t.Fatal(err)
		} else if _, err := Decode(again); err != nil {
			t.Fatal(err)
		}
	})
}

// Detours pay where a GPU has links of its own to several others, not behind a
// switch, and not where there is one other GPU.
func TestMultihop(t *testing.T) {
	for name, want := range map[string]bool{"dgx1": true, "dgx-station": true, "gh200": true, "hgx-h200": false, "ac922": false} {
		if preset(t, name).Multihop() != want {
			t.Errorf("%s: %v", name, !want)
		}
	}
	pair, err := preset(t, "dgx1").Restrict([]int{0, 1})
	if err != nil || pair.Multihop() {
		t.Errorf("two GPUs: %v", err)
	}
}

// The best set with a given GPU has that GPU, also where another set is faster.
func TestBestWith(t *testing.T) {
	m := preset(t, "ac922")
	for _, c := range []struct{ list, want []int }{
		{[]int{0, 1, 2, 3}, []int{0, 1}}, {[]int{2, 0, 1, 3}, []int{2, 3}}, {[]int{3, 1, 0}, []int{3, 1}},
	} {
		got := m.BestWith(c.list, 2)
		slices.Sort(got)
		slices.Sort(c.want)
		if !slices.Equal(got, c.want) {
			t.Errorf("of %v: %v", c.list, got)
		}
	}
	if set := m.BestWith([]int{0, 0}, 2); set != nil {
		t.Errorf("a GPU twice: %v", set)
	}
	if set := m.BestWith([]int{0}, 2); set != nil {
		t.Errorf("two GPUs of one: %v", set)
	}
}
