package mesh

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"time"
)

// Hop is what one copy crosses from a GPU to another, with no GPU between: one
// NVLink, the two links to and from a switch, or the links up to a socket,
// perhaps across to another one, and down.
type Hop struct {
	ID       int // index among the hops of the mesh
	From, To int
	Links    []int
	// Kind is that of the first link.
	Kind Kind
	// Staged says that the copy passes through a socket's memory.
	Staged bool
	// Fabric says that the hop crosses only links that were built to connect
	// GPUs. Routes of several hops use no others: a GPU that forwards data that
	// came over PCIe would use the scarce link twice.
	Fabric bool
	// GBps and Half are those of the slowest link and the largest Half; Latency is the sum.
	GBps    float64
	Half    int64
	Latency time.Duration
}

// Hops returns all hops of the mesh by ID.
func (m *Mesh) Hops() []Hop { return m.hops }

// Direct returns the hops from one GPU to another, fastest first.
func (m *Mesh) Direct(from, to int) []*Hop { return m.direct[from*m.gpus+to] }

// Time returns how long a hop that carries nothing else is busy with a copy of some bytes.
func (h *Hop) Time(bytes int64) time.Duration {
	if bytes <= 0 {
		return 0
	}
	return time.Duration(float64(bytes+h.Half) / h.GBps)
}

// findHops lists, for each pair of GPUs, one peer hop for each kind of first
// link and one staged hop, unless a peer hop already starts over its first link.
func (m *Mesh) findHops() {
	m.direct = make([][]*Hop, m.gpus*m.gpus)
	out := make([][]int, len(m.Nodes))
	for i, l := range m.Links {
		out[l.From] = append(out[l.From], i)
	}
	for from := range m.gpus {
		for to := range m.gpus {
			if from == to {
				continue
			}
			used := map[int]bool{}
			for kind := range Kind(len(linkKinds)) {
				if links := m.path(out, from, to, kind, false); links != nil {
					used[links[0]] = true
					m.addHop(from, to, links)
				}
			}
			if links := m.path(out, from, to, 0, true); links != nil && !used[links[0]] {
				m.addHop(from, to, links)
			}
		}
	}
	// Pointers only now: the list has its final place.
	for i := range m.hops {
		h := &m.hops[i]
		at := &m.direct[h.From*m.gpus+h.To]
		*at = append(*at, h)
	}
	for _, list := range m.direct {
		slices.SortStableFunc(list, func(a, b *Hop) int { return cmp.Compare(b.GBps, a.GBps) })
	}
}

func (m *Mesh) addHop(from, to int, links []int) {
	h := Hop{ID: len(m.hops), From: from, To: to, Links: links, Kind: m.Links[links[0]].Kind, Fabric: true}
	for i, l := range links {
		link := m.Links[l]
		h.Staged = h.Staged || m.Nodes[link.To].Kind == Host
		h.Fabric = h.Fabric && (link.Kind == NVLink || link.Kind == NVSwitch)
		if rate := m.linkRate(l); i == 0 || rate < h.GBps {
			h.GBps = rate
		}
		h.Half = max(h.Half, link.Half)
		h.Latency += link.Latency
	}
	h.Fabric = h.Fabric && !h.Staged
	m.hops = append(m.hops, h)
}

func (m *Mesh) linkRate(l int) float64 {
	link := m.Links[l]
	if link.Pool > 0 {
		return min(link.GBps, m.Pools[link.Pool-1].GBps)
	}
	return link.GBps
}

// path returns the links of the path between two GPUs with the fewest links,
// among these the widest. It passes through switches and, if staged, through at
// least one socket; if not staged, it begins with a link of the given kind.
func (m *Mesh) path(out [][]int, from, to int, kind Kind, staged bool) []int {
	type step struct {
		width float64
		links []int
	}
	// A state is twice a node, and one more where a socket was crossed.
	level, seen := map[int]step{2 * from: {width: math.Inf(1)}}, map[int]bool{2 * from: true}
	target := 2 * to
	if staged {
		target++
	}
	for len(level) > 0 {
		next := map[int]step{}
		for _, s := range slices.Sorted(maps.Keys(level)) {
			at := level[s]
			for _, l := range out[s/2] {
				link := m.Links[l]
				if len(at.links) == 0 && !staged && link.Kind != kind {
					continue
				}
				node, t := m.Nodes[link.To].Kind, 2*link.To+s%2
				if node == Host {
					t = 2*link.To + 1
				}
				if seen[t] || node == GPU && link.To != to || node == Host && !staged {
					continue
				}
				width := min(m.linkRate(l), at.width)
				if old, ok := next[t]; !ok || width > old.width {
					next[t] = step{width, append(slices.Clone(at.links), l)}
				}
			}
		}
		if found, ok := next[target]; ok {
			return found.links
		}
		delete(next, 2*to) // a peer path where a staged one is asked for
		for t := range next {
			seen[t] = true
		}
		level = next
	}
	return nil
}
