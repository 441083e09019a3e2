package exchange

import (
	"math"
	"slices"
	"time"

	"gpujoin/joincore/mesh"
)

// Policy chooses routes.
type Policy interface {
	// Usable returns the routes among which Choose chooses, whatever the view: at
	// least one. A node asks once for each destination.
	Usable(of []mesh.Route) []mesh.Route
	// Choose returns the index of the route for a batch of some bytes. There is
	// at least one route; they are sorted as mesh.Routes sorts them.
	Choose(v *View, bytes int64, of []mesh.Route) int
}

// Adaptive is the paper's adaptive routing metric (ARM, section 4.2): the time to cross the
// slowest hop without congestion, plus queueing delay and latency of every hop. Hops that are
// not part of the fabric are used only by pairs that the fabric does not connect: staged copies
// take bandwidth of the host's memory, which the database server needs.
type Adaptive struct{}

func (Adaptive) Usable(of []mesh.Route) []mesh.Route {
	fabric := slices.DeleteFunc(slices.Clone(of), func(r mesh.Route) bool { return !r.Fabric })
	if len(fabric) == 0 {
		return of
	}
	return fabric
}

func (Adaptive) Choose(v *View, bytes int64, of []mesh.Route) int {
	whole, part := v.full.times(v.mesh, bytes), v.part.times(v.mesh, min(bytes, v.copy))
	best, least := 0, time.Duration(math.MaxInt64)
	for i := range of {
		if t := metric(v, &of[i], whole, part, least); t < least {
			best, least = i, t
		}
	}
	return best
}

// metric is equation 2, ARM(R, P) = T_R + D_R, and one copy's time for each
// further hop: the pipeline has to fill. Without it, near-ties go to detours. It may
// return less than it is as soon as it is known not to be less than most. whole and part
// are the times of the batch and of a copy, by hop.
func metric(v *View, r *mesh.Route, whole, part []time.Duration, most time.Duration) time.Duration {
	var slowest, sum time.Duration
	for i, h := range r.Hops {
		slowest = max(slowest, whole[h.ID])
		if i > 0 {
			sum += part[h.ID]
		}
		if sum += v.Delay(h) + h.Latency; slowest+sum >= most {
			break
		}
	}
	return slowest + sum
}

// View is what a node knows of the queues in the network: for each hop, the work that waits for
// it. Hops that cross the same link (a switch's port, a PCIe uplink) delay each other.
//
// Policies look at all routes for each batch, so that delays and times of copies are
// kept until they change.
type View struct {
	mesh *mesh.Mesh
	work []int64 // by hop: bytes, with Half for each copy
	load []int64 // by link: the sum over the hops that cross it
	copy int64   // most bytes of a copy

	delays  []time.Duration // by hop; negative: not known
	through [][]int         // hops by link
	full    times           // of batches
	part    times           // of copies
}

// times is how long each hop is busy with a copy of some bytes.
type times struct {
	bytes int64
	of    []time.Duration
}

func newView(m *mesh.Mesh) View {
	v := View{mesh: m, work: make([]int64, len(m.Hops())), load: make([]int64, len(m.Links)), through: make([][]int, len(m.Links))}
	for i, h := range m.Hops() {
		for _, l := range h.Links {
			v.through[l] = append(v.through[l], i)
		}
	}
	v.delays = make([]time.Duration, len(m.Hops()))
	return v
}

// see takes another view's work.
func (v *View) see(o *View) {
	copy(v.work, o.work)
	copy(v.load, o.load)
	for i := range v.delays {
		v.delays[i] = -1
	}
}

// Delay returns how long a copy that is posted now waits for its hop.
func (v *View) Delay(h *mesh.Hop) time.Duration {
	if d := v.delays[h.ID]; d >= 0 {
		return d
	}
	var longest time.Duration
	for _, l := range h.Links {
		longest = max(longest, time.Duration(float64(v.load[l])/v.mesh.Links[l].GBps))
	}
	v.delays[h.ID] = longest
	return longest
}

// set changes a hop's work.
func (v *View) set(hop int, work int64) {
	more := work - v.work[hop]
	if more == 0 {
		return
	}
	v.work[hop] = work
	for _, l := range v.mesh.Hops()[hop].Links {
		v.load[l] += more
		for _, h := range v.through[l] {
			v.delays[h] = -1
		}
	}
}

func (v *View) add(hop int, work int64) { v.set(hop, v.work[hop]+work) }

// times returns how long each hop is busy with some bytes.
func (t *times) times(m *mesh.Mesh, bytes int64) []time.Duration {
	if t.of == nil || t.bytes != bytes {
		hops := m.Hops()
		if t.of == nil {
			t.of = make([]time.Duration, len(hops))
		}
		for i := range hops {
			t.of[i] = hops[i].Time(bytes)
		}
		t.bytes = bytes
	}
	return t.of
}

// seed gives a view the delays to expect at first, from the histogram: every source begins with
// a window of batches that it divides among its destinations as its bytes are divided, and each
// takes the route that adaptive routing would take. All nodes compute the same.
func seed(v *View, c Config, traffic [][]int64) {
	batch := c.Packet * int64(c.Batch)
	usable := make([][][]mesh.Route, len(traffic))
	for from, row := range traffic {
		usable[from] = make([][]mesh.Route, len(row))
		for to, bytes := range row {
			if bytes > 0 {
				usable[from][to] = c.Policy.Usable(v.mesh.Routes(from, to, c.Mid))
			}
		}
	}
	for range c.Window {
		for from, row := range traffic {
			var total int64
			for _, bytes := range row {
				total += bytes
			}
			for to, bytes := range row {
				if bytes == 0 {
					continue
				}
				part := int64(float64(min(batch, total)) * float64(bytes) / float64(total))
				routes := usable[from][to]
				r := &routes[c.Policy.Choose(v, max(part, 1), routes)]
				for _, h := range r.Hops {
					v.add(h.ID, part)
				}
			}
		}
	}
}
