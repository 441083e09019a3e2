package mesh_test

import (
	"errors"
	"math"
	"slices"
	"testing"
	"time"

	"gpujoin/joincore/mesh"
	"gpujoin/testsupport/machines"
)

func machine(t *testing.T, name string) *mesh.Mesh {
	t.Helper()
	m, err := machines.Mesh(name)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// What section 2.2 of the MG-Join paper says of the machine.
func TestDGX1IsThePapersMachine(t *testing.T) {
	m := machine(t, "dgx1")
	sublinks := 0
	for _, l := range m.Links {
		if l.Kind == mesh.NVLink && l.From < l.To {
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
				if h.Kind == mesh.PCIe {
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
				if r.Fabric {
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
	m := machine(t, "dgx1")
	h := m.Direct(0, 5)
	if len(h) != 1 || !h[0].Staged || h[0].Fabric || h[0].GBps != 11 || len(h[0].Links) != 5 {
		t.Fatalf("%+v", h)
	}
	if h := m.Direct(0, 1); len(h) != 2 || !h[0].Fabric || h[0].GBps != 23 || h[1].Staged || h[1].Kind != mesh.PCIe {
		t.Errorf("%+v %+v", h[0], h[1])
	}
	if got := m.Direct(0, 1)[0].Time(38 << 10); got != 3383*time.Nanosecond {
		t.Errorf("%v at half of the bandwidth", got)
	}
}

func TestRoutes(t *testing.T) {
	for _, name := range machines.Names() {
		m := machine(t, name)
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
	m := machine(t, "dgx1")
	part, err := m.Restrict([]int{0, 3, 4, 7})
	if err != nil {
		t.Fatal(err)
	}
	if part.GPUs() != 4 || part.Direct(0, 1)[0].GBps != 46 || part.Direct(1, 3)[0].GBps != 23 || part.Direct(0, 3)[0].Fabric {
		t.Errorf("%+v", part.Direct(0, 1)[0])
	}
	for _, set := range [][]int{{0, 0}, {8}, {-1}, nil} {
		if _, err := m.Restrict(set); !errors.Is(err, mesh.ErrInvalid) {
			t.Errorf("%v: %v", set, err)
		}
	}
}

// Through the memory of hosts, each pair has one hop, which no GPU forwards; links that connect GPUs only
// are gone.
func TestStaged(t *testing.T) {
	for name, want := range map[string]struct{ near, far float64 }{"dgx1": {11, 11}, "hgx-h200": {55, 55}, "ac922": {75, 64}} {
		m, err := machine(t, name).Staged()
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for from := range m.GPUs() {
			for to := range m.GPUs() {
				if from == to {
					continue
				}
				gbps := want.near
				if from/(m.GPUs()/2) != to/(m.GPUs()/2) {
					gbps = want.far
				}
				hops, routes := m.Direct(from, to), m.Routes(from, to, 3)
				if len(hops) != 1 || len(routes) != 1 || hops[0].Fabric || hops[0].GBps != gbps {
					t.Errorf("%s, %d to %d: %+v", name, from, to, hops)
				}
			}
		}
		if m.Multihop() {
			t.Errorf("%s: detours through the memory of hosts", name)
		}
	}
	apart, err := mesh.New("apart", []mesh.Node{{}, {}}, []mesh.Link{{From: 0, To: 1, Width: 1, GBps: 20}, {From: 1, To: 0, Width: 1, GBps: 20}}, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := apart.Staged(); !errors.Is(err, mesh.ErrInvalid) {
		t.Errorf("two GPUs without a host: %v", err)
	}
}

func TestCuts(t *testing.T) {
	for _, c := range []struct {
		machine string
		half    uint64
		gbps    float64
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
		if got := machine(t, c.machine).Cut(c.half); math.Abs(got-c.gbps) > 1e-6 {
			t.Errorf("%s %b: %v GB/s, not %v", c.machine, c.half, got, c.gbps)
		}
	}
}

func TestTightestCutOfUniformTraffic(t *testing.T) {
	m := machine(t, "dgx1")
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

// best returns the best n GPUs of all.
func best(m *mesh.Mesh, n int) []int {
	all := make([]int, m.GPUs())
	for i := range all {
		all[i] = i
	}
	return m.BestWith(all, n)
}

func TestBest(t *testing.T) {
	for _, c := range []struct {
		machine string
		n       int
		want    []int
	}{
		{"ac922", 2, []int{0, 1}}, // 75 GB/s, not 64 over the sockets
		{"ac922", 4, []int{0, 1, 2, 3}},
		{"dgx1", 1, []int{0}},
		{"dgx1", 8, []int{0, 1, 2, 3, 4, 5, 6, 7}},
		{"dgx1", 9, nil},
		{"dgx1", 0, nil},
		{"hgx-h200", 4, []int{0, 1, 4, 5}}, // three of a socket would share 155 GB/s
	} {
		if got := best(machine(t, c.machine), c.n); !slices.Equal(got, c.want) {
			t.Errorf("%s: best %d are %v, not %v", c.machine, c.n, got, c.want)
		}
	}
	// Two GPUs of a DGX-1: a double link, and each its own uplink.
	pair := best(machine(t, "dgx1"), 2)
	m := machine(t, "dgx1")
	if h := m.Direct(pair[0], pair[1])[0]; h.GBps != 46 || pair[0]/2 == pair[1]/2 {
		t.Errorf("%v with %v GB/s", pair, h.GBps)
	}
}

// A machine of 16 equal GPUs takes the search that is not exact.
func TestBestOfMany(t *testing.T) {
	var nodes []mesh.Node
	var links []mesh.Link
	for i := range mesh.MostGPUs {
		link := mesh.Link{From: i, To: mesh.MostGPUs, Kind: mesh.NVSwitch, Width: 6, GBps: 140}
		back := link
		back.From, back.To = link.To, link.From
		nodes, links = append(nodes, mesh.Node{Kind: mesh.GPU}), append(links, link, back)
	}
	m, err := mesh.New("dgx2", append(nodes, mesh.Node{Kind: mesh.Switch}), links, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{2, 3, 5} {
		if got := best(m, n); len(got) != n || !slices.IsSorted(got) {
			t.Errorf("%v", got)
		}
	}
}

// A description that contradicts itself makes no mesh.
func TestContradictionsAreRefused(t *testing.T) {
	link := mesh.Link{From: 0, To: 1, Kind: mesh.NVLink, Width: 1, GBps: 23, Half: 1, Latency: 1}
	for name, change := range map[string]func(nodes *[]mesh.Node, links *[]mesh.Link, pools *[]mesh.Pool, engines *int){
		"":                   nil,
		"no GPU":             func(nodes *[]mesh.Node, _ *[]mesh.Link, _ *[]mesh.Pool, _ *int) { *nodes = nil },
		"engines":            func(_ *[]mesh.Node, _ *[]mesh.Link, _ *[]mesh.Pool, engines *int) { *engines = -1 },
		"a host first":       func(nodes *[]mesh.Node, _ *[]mesh.Link, _ *[]mesh.Pool, _ *int) { (*nodes)[0].Kind = mesh.Host },
		"an unknown node":    func(nodes *[]mesh.Node, _ *[]mesh.Link, _ *[]mesh.Pool, _ *int) { (*nodes)[0].Kind = 9 },
		"a link twice":       func(_ *[]mesh.Node, links *[]mesh.Link, _ *[]mesh.Pool, _ *int) { *links = append(*links, link) },
		"no such node":       func(_ *[]mesh.Node, links *[]mesh.Link, _ *[]mesh.Pool, _ *int) { (*links)[0].To = 2 },
		"a link to itself":   func(_ *[]mesh.Node, links *[]mesh.Link, _ *[]mesh.Pool, _ *int) { (*links)[0].To = 0 },
		"an unknown link":    func(_ *[]mesh.Node, links *[]mesh.Link, _ *[]mesh.Pool, _ *int) { (*links)[0].Kind = 9 },
		"no sub-links":       func(_ *[]mesh.Node, links *[]mesh.Link, _ *[]mesh.Pool, _ *int) { (*links)[0].Width = 0 },
		"no bandwidth":       func(_ *[]mesh.Node, links *[]mesh.Link, _ *[]mesh.Pool, _ *int) { (*links)[0].GBps = 0 },
		"endless bandwidth":  func(_ *[]mesh.Node, links *[]mesh.Link, _ *[]mesh.Pool, _ *int) { (*links)[0].GBps = math.Inf(1) },
		"a negative size":    func(_ *[]mesh.Node, links *[]mesh.Link, _ *[]mesh.Pool, _ *int) { (*links)[0].Half = -1 },
		"a negative latency": func(_ *[]mesh.Node, links *[]mesh.Link, _ *[]mesh.Pool, _ *int) { (*links)[0].Latency = -1 },
		"no such pool":       func(_ *[]mesh.Node, links *[]mesh.Link, _ *[]mesh.Pool, _ *int) { (*links)[0].Pool = 1 },
		"a pool without rate": func(_ *[]mesh.Node, _ *[]mesh.Link, pools *[]mesh.Pool, _ *int) {
			*pools = []mesh.Pool{{Name: "p", GBps: -1}}
		},
	} {
		nodes, links, pools, engines := []mesh.Node{{Kind: mesh.GPU}, {Kind: mesh.GPU}}, []mesh.Link{link}, []mesh.Pool(nil), 0
		if change != nil {
			change(&nodes, &links, &pools, &engines)
		}
		if _, err := mesh.New(name, nodes, links, pools, engines); errors.Is(err, mesh.ErrInvalid) != (name != "") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Detours pay where a GPU has links of its own to several others, not behind a
// switch, and not where there is one other GPU.
func TestMultihop(t *testing.T) {
	for name, want := range map[string]bool{"dgx1": true, "dgx-station": true, "gh200": true, "hgx-h200": false, "ac922": false} {
		if machine(t, name).Multihop() != want {
			t.Errorf("%s: %v", name, !want)
		}
	}
	pair, err := machine(t, "dgx1").Restrict([]int{0, 1})
	if err != nil || pair.Multihop() {
		t.Errorf("two GPUs: %v", err)
	}
}

// The best set with a given GPU has that GPU, also where another set is faster.
func TestBestWith(t *testing.T) {
	m := machine(t, "ac922")
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
