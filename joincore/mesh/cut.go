package mesh

import "math/bits"

// Cut returns the bandwidth, in GB/s, of everything that leads from the GPUs in half (a bit for
// each) to the others: a maximum flow, so that links through switches and sockets count once.
// Where the fabric joins all GPUs, only its links count, as only they are used by routes of
// several hops. Pools are not considered: the true bandwidth may be lower.
func (m *Mesh) Cut(half uint64) float64 {
	f := newFlow(len(m.Nodes) + 2)
	source, sink := len(m.Nodes), len(m.Nodes)+1
	for g := range m.gpus {
		if half>>g&1 == 1 {
			f.add(source, g, endless)
		} else {
			f.add(g, sink, endless)
		}
	}
	for _, l := range m.Links {
		if m.joined && !m.fabricLink(l) {
			continue
		}
		f.add(l.From, l.To, l.GBps)
	}
	return f.maximum(source, sink)
}

func (m *Mesh) fabricLink(l Link) bool {
	return (l.Kind == NVLink || l.Kind == NVSwitch) && m.Nodes[l.From].Kind != Host && m.Nodes[l.To].Kind != Host
}

// Bisection returns the half of the GPUs whose cut to the other half (for an odd number, to one
// GPU more) has the least bandwidth, and that bandwidth in GB/s; 0 for a single GPU.
func (m *Mesh) Bisection() (half uint64, gbps float64) {
	for s := range uint64(1) << m.gpus {
		if bits.OnesCount64(s) != m.gpus/2 || s == 0 {
			continue
		}
		if c := m.Cut(s); half == 0 || c < gbps {
			half, gbps = s, c
		}
	}
	return half, gbps
}

// Tightest returns the GPUs whose cut to the others takes longest for traffic
// between GPUs, traffic[from][to] in bytes, and that time in seconds: no
// exchange can be faster. The time is infinite if there is no way at all.
func (m *Mesh) Tightest(traffic [][]float64) (half uint64, seconds float64) {
	for s := uint64(1); s < uint64(1)<<m.gpus-1; s++ {
		var bytes float64
		for from, row := range traffic {
			for to, b := range row {
				if s>>from&1 == 1 && s>>to&1 == 0 {
					bytes += b
				}
			}
		}
		if bytes == 0 {
			continue
		}
		if t := bytes / (m.Cut(s) * 1e9); t > seconds {
			half, seconds = s, t
		}
	}
	return half, seconds
}

const endless = 1e12

// flow is a network for maximum flows between few nodes: a matrix of what each
// edge can still take.
type flow struct {
	nodes int
	left  []float64
}

func newFlow(nodes int) *flow { return &flow{nodes, make([]float64, nodes*nodes)} }

func (f *flow) add(from, to int, gbps float64) { f.left[from*f.nodes+to] += gbps }

// maximum returns the maximum flow by shortest augmenting paths. It uses the network up.
func (f *flow) maximum(source, sink int) float64 {
	var total float64
	before := make([]int, f.nodes)
	queue := make([]int, 0, f.nodes)
	for {
		for i := range before {
			before[i] = -1
		}
		before[source] = source
		queue = append(queue[:0], source)
		for i := 0; i < len(queue) && before[sink] < 0; i++ {
			at := queue[i]
			for next, left := range f.left[at*f.nodes : (at+1)*f.nodes] {
				// Rounding leaves tiny remainders, which would be followed for ever.
				if left > 1e-9 && before[next] < 0 {
					before[next] = at
					queue = append(queue, next)
				}
			}
		}
		if before[sink] < 0 {
			return total
		}
		more := endless
		for at := sink; at != source; at = before[at] {
			more = min(more, f.left[before[at]*f.nodes+at])
		}
		for at := sink; at != source; at = before[at] {
			f.left[before[at]*f.nodes+at] -= more
			f.left[at*f.nodes+before[at]] += more
		}
		total += more
	}
}
