package mesh

import (
	"math"
	"math/bits"
	"slices"
)

// mostCuts bounds the work of an exact search in BestWith.
const mostCuts = 1 << 16

// BestWith returns the n GPUs of a list that are fastest together, with the first one of the
// list among them, in the order of the list: the least time to load equal parts of an input
// from the sockets and to exchange it all-to-all. Of equally fast sets it returns the first. It
// returns nil where there are not n GPUs, or a GPU is unknown or named twice.
//
// With more GPUs than an exact search allows it extends the best smaller set.
func (m *Mesh) BestWith(list []int, n int) []int {
	part, err := m.Restrict(list)
	if err != nil {
		return nil
	}
	set := part.best(n)
	for i, g := range set {
		set[i] = list[g]
	}
	return set
}

// best returns the n GPUs, GPU 0 among them, that are fastest together.
func (m *Mesh) best(n int) []int {
	if n < 1 || n > m.gpus {
		return nil
	}
	var best []int
	least := math.Inf(1)
	consider := func(set []int) {
		if t := m.seconds(set); best == nil || t < least-1e-15 {
			best, least = set, t
		}
	}
	if choose(m.gpus, n)<<n <= mostCuts {
		for s := uint64(1); s < 1<<m.gpus; s += 2 {
			if bits.OnesCount64(s) == n {
				consider(members(s))
			}
		}
		return best
	}
	smaller := m.best(n - 1)
	for g := range m.gpus {
		if !slices.Contains(smaller, g) {
			set := append(slices.Clone(smaller), g)
			slices.Sort(set)
			consider(set)
		}
	}
	return best
}

// seconds bounds from below the time to load 1 GB in equal parts into a set of
// GPUs and to exchange it all-to-all.
func (m *Mesh) seconds(set []int) float64 {
	part, err := m.Restrict(set)
	if err != nil {
		return math.Inf(1)
	}
	n := len(set)
	traffic := make([][]float64, n)
	for i := range traffic {
		traffic[i] = make([]float64, n)
		for j := range traffic[i] {
			if i != j {
				traffic[i][j] = 1e9 / float64(n*n)
			}
		}
	}
	_, exchange := part.Tightest(traffic)
	return exchange + part.load()
}

// load bounds from below the time, in seconds, to load 1 GB from the sockets in
// equal parts into all GPUs; 0 where the mesh has no sockets.
func (m *Mesh) load() float64 {
	hosts := 0
	for _, n := range m.Nodes {
		if n.Kind == Host {
			hosts++
		}
	}
	if hosts == 0 {
		return 0
	}
	var longest float64
	for s := uint64(1); s < uint64(1)<<m.gpus; s++ {
		f := newFlow(len(m.Nodes) + 2)
		source, sink := len(m.Nodes), len(m.Nodes)+1
		for i, n := range m.Nodes {
			switch {
			case n.Kind == Host:
				f.add(source, i, endless)
			case n.Kind == GPU && s>>i&1 == 1:
				f.add(i, sink, endless)
			}
		}
		for _, l := range m.Links {
			if m.Nodes[l.From].Kind != GPU { // no loading through another GPU
				f.add(l.From, l.To, l.GBps)
			}
		}
		longest = max(longest, float64(bits.OnesCount64(s))/float64(m.gpus)/f.maximum(source, sink))
	}
	return longest
}

func members(set uint64) []int {
	var list []int
	for ; set != 0; set &= set - 1 {
		list = append(list, bits.TrailingZeros64(set))
	}
	return list
}

func choose(n, k int) int {
	c := 1
	for i := range k {
		c = c * (n - i) / (i + 1)
	}
	return c
}
