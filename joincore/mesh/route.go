package mesh

import (
	"cmp"
	"slices"
	"sync"
)

// Route is a way from one GPU to another.
type Route struct {
	GPUs   []int // the source, GPUs that forward, the destination
	Hops   []*Hop
	Fabric bool // all of them are fabric hops
}

// GBps returns the bandwidth of the slowest hop.
func (r *Route) GBps() float64 {
	gbps := r.Hops[0].GBps
	for _, h := range r.Hops[1:] {
		gbps = min(gbps, h.GBps)
	}
	return gbps
}

type routeCache struct {
	sync.Mutex
	of map[[3]int][]Route
}

// Routes returns the acyclic routes from one GPU to another: every direct hop,
// and routes of fabric hops with at most mid GPUs between. Those with the
// fewest hops come first, among them the widest, among them the first in the
// order of their GPUs. Callers must not change the result.
func (m *Mesh) Routes(from, to, mid int) []Route {
	key := [3]int{from, to, mid}
	m.routes.Lock()
	defer m.routes.Unlock()
	if found, ok := m.routes.of[key]; ok {
		return found
	}
	var all []Route
	for _, h := range m.Direct(from, to) {
		all = append(all, Route{GPUs: []int{from, to}, Hops: []*Hop{h}, Fabric: h.Fabric})
	}
	if from != to {
		m.extend([]int{from}, nil, to, mid, &all)
	}
	slices.SortStableFunc(all, func(a, b Route) int {
		return cmp.Or(cmp.Compare(len(a.Hops), len(b.Hops)), cmp.Compare(b.GBps(), a.GBps()), slices.Compare(a.GPUs, b.GPUs))
	})
	if m.routes.of == nil {
		m.routes.of = map[[3]int][]Route{}
	}
	m.routes.of[key] = all
	return all
}

// extend adds all routes of several fabric hops that begin with gpus and hops.
func (m *Mesh) extend(gpus []int, hops []*Hop, to, mid int, all *[]Route) {
	at := gpus[len(gpus)-1]
	for next := range m.gpus {
		if slices.Contains(gpus, next) {
			continue
		}
		h := m.fabric(at, next)
		if h == nil {
			continue
		}
		longer := append(slices.Clone(gpus), next)
		over := append(slices.Clone(hops), h)
		switch {
		case next != to && len(longer) <= mid+1:
			m.extend(longer, over, to, mid, all)
		case next == to && len(over) > 1:
			*all = append(*all, Route{GPUs: longer, Hops: over, Fabric: true})
		}
	}
}

// fabric returns the fastest fabric hop from one GPU to another, or nil.
func (m *Mesh) fabric(from, to int) *Hop {
	for _, h := range m.Direct(from, to) {
		if h.Fabric {
			return h
		}
	}
	return nil
}

// Joined says whether fabric hops connect all GPUs with each other.
func (m *Mesh) Joined() bool { return m.joined }

func (m *Mesh) fabricJoins() bool {
	for from := range m.gpus {
		reached := make([]bool, m.gpus)
		reached[from] = true
		for range m.gpus {
			for at := range m.gpus {
				for next := range m.gpus {
					reached[next] = reached[next] || reached[at] && m.fabric(at, next) != nil
				}
			}
		}
		if slices.Contains(reached, false) {
			return false
		}
	}
	return true
}

// Multihop says whether routes of several hops are of use: whether two GPUs have
// no direct hop, or the links of some GPU together have more bandwidth than its
// fastest hop. Behind a switch they do not: every hop crosses the same port.
func (m *Mesh) Multihop() bool { return m.multihop }

func (m *Mesh) detoursHelp() bool {
	for from := range m.gpus {
		var direct float64
		for to := range m.gpus {
			if from != to && len(m.Direct(from, to)) == 0 {
				return true
			}
			for _, h := range m.Direct(from, to) {
				direct = max(direct, h.GBps)
			}
		}
		if m.joined && m.Cut(1<<from) > direct {
			return true
		}
	}
	return false
}
