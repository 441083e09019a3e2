package exchange

import (
	"math"
	"time"

	"gpujoin/joincore/mesh"
)

// Policy chooses routes.
type Policy interface {
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

// Choose implements Policy.
func (Adaptive) Choose(v *View, bytes int64, of []mesh.Route) int {
	fabric := false
	for i := range of {
		fabric = fabric || of[i].Fabric()
	}
	best, least := 0, time.Duration(math.MaxInt64)
	for i := range of {
		if fabric && !of[i].Fabric() {
			continue
		}
		if t := metric(v, &of[i], bytes, least); t < least {
			best, least = i, t
		}
	}
	return best
}

// metric is equation 2, ARM(R, P) = T_R + D_R, and one copy's time for each
// further hop: the pipeline has to fill. Without it, near-ties go to detours. It may
// return less than it is as soon as it is known not to be less than most.
func metric(v *View, r *mesh.Route, bytes int64, most time.Duration) time.Duration {
	var slowest, sum time.Duration
	for i, h := range r.Hops {
		slowest = max(slowest, h.Time(bytes))
		if i > 0 {
			sum += h.Time(min(bytes, v.copy))
		}
		if sum += v.Delay(h) + h.Latency; slowest+sum >= most {
			break
		}
	}
	return slowest + sum
}

// Bandwidth always takes the widest route, of these the shortest.
type Bandwidth struct{}

// Choose implements Policy.
func (Bandwidth) Choose(v *View, bytes int64, of []mesh.Route) int {
	return least(of, func(r *mesh.Route) float64 { return -r.GBps() })
}

// Hops always takes the route with the fewest hops, of these the widest.
type Hops struct{}

// Choose implements Policy.
func (Hops) Choose(v *View, bytes int64, of []mesh.Route) int {
	return least(of, func(r *mesh.Route) float64 { return float64(len(r.Hops)) })
}

// Latency always takes the route with the lowest latency, of these the
// shortest and widest.
type Latency struct{}

// Choose implements Policy.
func (Latency) Choose(v *View, bytes int64, of []mesh.Route) int {
	return least(of, func(r *mesh.Route) float64 { return float64(r.Latency()) })
}

// Direct always takes the fastest hop without a GPU between, as DPRJ does.
type Direct struct{}

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
