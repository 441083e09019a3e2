package sim

import (
	"gpujoin/joincore/exchange"
	"gpujoin/joincore/mesh"
)

// Policies are all policies.
var Policies = []exchange.Policy{exchange.Adaptive{}, Bandwidth{}, Hops{}, Latency{}, Direct{}}

// Bandwidth always takes the widest route, of these the shortest.
type Bandwidth struct{}

// Usable implements Policy.
func (p Bandwidth) Usable(of []mesh.Route) []mesh.Route { return only(p, of) }

// Choose implements Policy.
func (Bandwidth) Choose(_ *exchange.View, _ int64, of []mesh.Route) int {
	return least(of, func(r *mesh.Route) float64 { return -r.GBps() })
}

// Hops always takes the route with the fewest hops, of these the widest.
type Hops struct{}

// Usable implements Policy.
func (p Hops) Usable(of []mesh.Route) []mesh.Route { return only(p, of) }

// Choose implements Policy.
func (Hops) Choose(_ *exchange.View, _ int64, of []mesh.Route) int {
	return least(of, func(r *mesh.Route) float64 { return float64(len(r.Hops)) })
}

// Latency always takes the route with the lowest latency, of these the
// shortest and widest.
type Latency struct{}

// Usable implements Policy.
func (p Latency) Usable(of []mesh.Route) []mesh.Route { return only(p, of) }

// Choose implements Policy.
func (Latency) Choose(_ *exchange.View, _ int64, of []mesh.Route) int {
	return least(of, func(r *mesh.Route) (sum float64) {
		for _, h := range r.Hops {
			sum += float64(h.Latency)
		}
		return sum
	})
}

// Direct always takes the fastest hop without a GPU between, as DPRJ does.
type Direct struct{}

// Usable implements Policy.
func (p Direct) Usable(of []mesh.Route) []mesh.Route { return only(p, of) }

// Choose implements Policy.
func (Direct) Choose(_ *exchange.View, _ int64, of []mesh.Route) int {
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
func only(p exchange.Policy, of []mesh.Route) []mesh.Route {
	i := p.Choose(nil, 0, of)
	return of[i : i+1]
}
