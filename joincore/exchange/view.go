package exchange

import (
	"time"

	"gpujoin/joincore/mesh"
)

// View is what a node knows of the queues in the network: for each hop, the
// work that waits for it. Hops that cross the same link (a switch's port, a
// PCIe uplink) delay each other.
type View struct {
	mesh *mesh.Mesh
	work []int64 // by hop: bytes, with Half for each copy
	load []int64 // by link: the sum over the hops that cross it
	copy int64   // most bytes of a copy
}

func newView(m *mesh.Mesh) View {
	return View{mesh: m, work: make([]int64, len(m.Hops())), load: make([]int64, len(m.Links))}
}

// Delay returns how long a copy that is posted now waits for its hop.
func (v *View) Delay(h *mesh.Hop) time.Duration {
	var longest time.Duration
	for _, l := range h.Links {
		longest = max(longest, time.Duration(float64(v.load[l])/v.mesh.Links[l].GBps))
	}
	return longest
}

// set changes a hop's work.
func (v *View) set(hop int, work int64) {
	more := work - v.work[hop]
	v.work[hop] = work
	for _, l := range v.mesh.Hops()[hop].Links {
		v.load[l] += more
	}
}

func (v *View) add(hop int, work int64) { v.set(hop, v.work[hop]+work) }
