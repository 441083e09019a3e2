package exchange

import (
	"cmp"
	"slices"

	"gpujoin/joincore/mesh"
)

// admit chooses a route for one batch of the flow with most bytes left whose
// route begins with a hop that can take one. It returns whether there was one.
func (n *Node) admit() bool {
	for _, o := range n.ready() {
		count, full := n.batch(o)
		accepts := func(q *queue) bool { return q.own < n.chunk && (full || q.posted == 0 && q.packets == 0) }
		if !slices.ContainsFunc(n.first[o.flow.To], accepts) {
			continue // whichever route would be chosen
		}
		routes := n.routes[o.flow.To]
		r := &routes[n.config.Policy.Choose(&n.view, wire(o.packets[:count]), routes)]
		if !accepts(n.byHop[r.Hops[0].ID]) {
			continue
		}
		n.begin(o, r)
		return true
	}
	return false
}

// batch returns how many packets of a flow the next batch takes, and whether
// more would not help. Batches become smaller towards the end of a pair's
// traffic, so that all links end together, as far as small copies reach nine
// tenths of the bandwidth, and the host can post them as fast as they end.
func (n *Node) batch(o *outflow) (count int, full bool) {
	left := int((n.left[o.flow.To] + n.config.Packet - 1) / n.config.Packet)
	most := min(max(left/n.config.Window, n.least, 1), n.config.Batch)
	return min(len(o.packets), most), len(o.packets) >= most || n.coming[o.flow.To] == 0
}

// ready lists the flows that have packets, those whose destination has most
// bytes left first. The list is valid until the next call.
func (n *Node) ready() []*outflow {
	if n.mine >= n.config.Window {
		return nil
	}
	n.waiting = n.waiting[:0]
	for _, o := range n.outgoing {
		if len(o.packets) > 0 {
			n.waiting = append(n.waiting, o)
		}
	}
	slices.SortStableFunc(n.waiting, func(a, b *outflow) int {
		return cmp.Compare(n.left[b.flow.To], n.left[a.flow.To])
	})
	return n.waiting
}

// begin sends the next batch of a flow on a route.
func (n *Node) begin(o *outflow, r *mesh.Route) {
	count, _ := n.batch(o)
	b := newBatch(o.flow, o.packets[:count:count], r, 0, Place{Class: Source}, n.left[o.flow.To])
	o.packets = o.packets[count:]
	for _, p := range b.Packets {
		n.left[o.flow.To] -= p.Raw
	}
	n.mine++
	n.stats.Batches++
	n.stats.Hops += int64(len(r.Hops))
	n.queue(b)
	q := n.byHop[r.Hops[0].ID]
	n.view.set(q.hop.ID, q.work)
}

func wire(packets []Packet) int64 {
	var sum int64
	for _, p := range packets {
		sum += p.Wire
	}
	return sum
}
