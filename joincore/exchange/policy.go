package exchange

import (
	"math"
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

// Adaptive is the paper's adaptive routing metric (ARM, section 4.2): the time
// to cross the slowest hop without congestion, plus queueing delay and latency
// of every hop. Hops that are not part of the fabric are used only by pairs
// that the fabric does not connect: staged copies take bandwidth of the host's
// memory, which the database server needs.
type Adaptive struct{}

// Usable implements Policy.
func (Adaptive) Usable(of []mesh.Route) []mesh.Route {
	fabric := make([]mesh.Route, 0, len(of))
	for i := range of {
		if of[i].Fabric() {
			fabric = append(fabric, of[i])
		}
	}
	if len(fabric) == 0 {
		return of
	}
	return fabric
}

// Choose implements Policy.
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

// Bandwidth always takes the widest route, of these the shortest.
type Bandwidth struct{}

// Usable implements Policy.
func (p Bandwidth) Usable(of []mesh.Route) []mesh.Route { return only(p, of) }

// Choose implements Policy.
func (Bandwidth) Choose(v *View, bytes int64, of []mesh.Route) int {
	return least(of, func(r *mesh.Route) float64 { return -r.GBps() })
}

// Hops always takes the route with the fewest hops, of these the widest.
type Hops struct{}

// Usable implements Policy.
func (p Hops) Usable(of []mesh.Route) []mesh.Route { return only(p, of) }

// Choose implements Policy.
func (Hops) Choose(v *View, bytes int64, of []mesh.Route) int {
	return least(of, func(r *mesh.Route) float64 { return float64(len(r.Hops)) })
}

// Latency always takes the route with the lowest latency, of these the
// shortest and widest.
type Latency struct{}

// Usable implements Policy.
func (p Latency) Usable(of []mesh.Route) []mesh.Route { return only(p, of) }

// Choose implements Policy.
func (Latency) Choose(v *View, bytes int64, of []mesh.Route) int {
	return least(of, func(r *mesh.Route) float64 { return float64(r.Latency()) })
}

// Direct always takes the fastest hop without a GPU between, as DPRJ does.
type Direct struct{}

// Usable implements Policy.
func (p Direct) Usable(of []mesh.Route) []mesh.Route { return only(p, of) }

// Choose implements Policy.
func (Direct) Choose(v *View, bytes int64, of []mesh.Route) int {
	best := 0
	for i := range of {
		if len(of[i].Hops) == 1 && (len(of[best].Hops) > 1 || of[i].GBps() > of[best].GBps()) {
			best = i
		}
	}
	return best
}

// least returns the first route with the least cost.
func least(of []mesh.Route, cost func(*mesh.Route) float64) int {
	best := 0
	for i := range of {
		if cost(&of[i]) < cost(&of[best]) {
			best = i
		}
	}
	return best
}

// only returns the route that a policy chooses whatever the view.
func only(p Policy, of []mesh.Route) []mesh.Route {
	i := p.Choose(nil, 0, of)
	return of[i : i+1]
}
