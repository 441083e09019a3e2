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
		if of[i].Fabric {
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
