package mesh

import "math/bits"

// Cut returns the bandwidth, in GB/s, of everything that leads from the GPUs in
// half (a bit for each) to the others: a maximum flow, so that links through
// switches and sockets count once. Where the fabric joins all GPUs, only its
// links count, as only they are used by routes of several hops. Pools are not
// considered: the true bandwidth may be lower.
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

// Bisection returns the half of the GPUs whose cut to the other half (for an
// odd number, to one GPU more) has the least bandwidth, and that bandwidth in
// GB/s; 0 for a single GPU.
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
