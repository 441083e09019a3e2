package exchange

import (
	"cmp"
	"slices"

	"gpujoin/joincore/mesh"
)

// Conductor is the paper's centralised baseline (MGJ-Baseline, section 5.2):
// all GPUs synchronise for each batch, and one place that sees every queue
// chooses all routes. It serves comparisons; real exchanges do without.
type Conductor struct {
	nodes []*Node
	view  View
}

// NewConductor returns a conductor of nodes whose Config has Central set.
func NewConductor(m *mesh.Mesh, nodes []*Node) *Conductor {
	c := &Conductor{nodes, newView(m)}
	for _, n := range nodes {
		c.view.copy = n.view.copy // all have the same
	}
	return c
}

// Ready says whether a round can begin: some GPU has packets to send, and each
// that has can take another batch: fewer wait there than it has fabric hops.
func (c *Conductor) Ready() bool {
	some := false
	for _, n := range c.nodes {
		if len(n.ready()) == 0 {
			continue
		}
		hops := 0
		for _, q := range n.queues {
			if q.hop.Fabric {
				hops++
			}
		}
		if n.mine >= max(hops, 1) {
			return false
		}
		some = true
	}
	return some
}

// Hold stops all senders: they synchronise.
func (c *Conductor) Hold() {
	for _, n := range c.nodes {
		n.held = true
	}
}

// Choose gives each GPU a batch with its route, and lets the senders go on.
func (c *Conductor) Choose() {
	c.look()
	order := slices.Clone(c.nodes)
	slices.SortStableFunc(order, func(a, b *Node) int { return cmp.Compare(b.total(), a.total()) })
	for _, n := range order {
		if list := n.ready(); len(list) > 0 {
			c.choose(n, list)
		}
	}
	for _, n := range c.nodes {
		n.held = false
		n.step()
	}
}

// look computes each hop's true delay: of all batches, wherever they are, all
// hops that they still have before them.
func (c *Conductor) look() {
	for h := range c.view.work {
		c.view.set(h, 0)
	}
	for _, n := range c.nodes {
		for _, q := range n.queues {
			c.view.add(q.hop.ID, q.work)
			for _, line := range q.lines {
				for _, b := range line {
					for _, h := range b.Route.Hops[b.Hop+1:] {
						c.view.add(h.ID, b.Wire+h.Half)
					}
				}
			}
		}
	}
}

// choose takes the flow with most bytes left whose best route begins with a hop
// that no other batch of this GPU waits for; if there is none, the first flow.
func (c *Conductor) choose(n *Node, flows []*outflow) {
	var flow *outflow
	var route *mesh.Route
	for _, o := range flows {
		routes := n.routes[o.flow.To]
		count, _ := n.batch(o)
		r := &routes[n.config.Policy.Choose(&c.view, wire(o.packets[:count]), routes)]
		free := n.byHop[r.Hops[0].ID].own < n.chunk
		if flow == nil || free {
			flow, route = o, r
		}
		if free {
			break
		}
	}
	count, _ := n.batch(flow)
	bytes := wire(flow.packets[:count])
	n.begin(flow, route)
	for _, h := range route.Hops {
		c.view.add(h.ID, bytes+h.Half)
	}
}
