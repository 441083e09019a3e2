package exchange

import (
	"cmp"
	"slices"

	"gpujoin/joincore/mesh"
)

// post gives the fabric copies as long as a hop can take one and a batch can use it.
func (n *Node) post() {
	for {
		q := n.next()
		if q == nil {
			return
		}
		n.send(q)
	}
}

// next chooses the hop that posts: all that can, as far as copy engines
// allow, by smooth weighted round-robin. A hop's weight is its waiting packets.
func (n *Node) next() *queue {
	busy := 0
	for _, q := range n.queues {
		if q.posted > 0 {
			busy++
		}
	}
	var best *queue
	total := 0
	for _, q := range n.queues {
		if q.packets == 0 || q.flying >= n.config.Posted*n.chunk || q.posted == 0 && n.mesh.Engines > 0 && busy >= n.mesh.Engines {
			continue
		}
		if line, _, _ := n.sendable(q); line < 0 {
			continue
		}
		total += q.packets
		if q.credit += q.packets; best == nil || q.credit > best.credit {
			best = q
		}
	}
	if best != nil {
		best.credit -= total
	}
	return best
}

// sendable returns the line whose first batch can be sent, where to, and how
// many of its packets; a negative line if there is none. The most urgent batch
// is first; of equal ones that which needs no slot.
func (n *Node) sendable(q *queue) (line, first, count int) {
	best := -1
	for l := range q.lines {
		if len(q.lines[l]) == 0 {
			continue
		}
		b := q.lines[l][0]
		at, packets := 0, min(len(b.Packets), n.chunk)
		if !b.last() {
			class := n.class(b)
			if at, packets = n.shared[b.To()][class].free.run(packets); packets == 0 {
				n.ask(b.To(), class)
				continue
			}
		}
		if best < 0 || b.Left >= q.lines[best][0].Left {
			best, first, count = l, at, packets
		}
	}
	return best, first, count
}

// class is that of the buffer that a batch needs at the end of its hop.
func (n *Node) class(b *Batch) int {
	if n.config.SharedRing {
		return 0
	}
	return b.Hop
}

func (n *Node) ask(neighbour, class int) {
	if c := &n.shared[neighbour][class]; !c.asked {
		c.asked = true
		n.stats.Asked++
		n.fabric.Tell(n.gpu, neighbour, Note{Kind: Ask, Class: class})
	}
}

// send posts the copy that sendable found.
func (n *Node) send(q *queue) {
	line, first, count := n.sendable(q)
	b, all := q.take(line, count)
	if all && b.Hop == 0 {
		n.mine--
	}
	into := Place{Class: Final}
	if !b.last() {
		into = Place{Class: n.class(b), First: first}
		n.shared[b.To()][into.Class].free &^= slots(first, count)
	}
	q.posted++
	q.flying += count
	n.fabric.Send(b, into)
}

// tell tells all others the work of each hop whose queue has changed by half a batch, or
// has become empty.
func (n *Node) tell() {
	half := n.config.Packet * int64(n.config.Batch) / 2
	for _, q := range n.queues {
		n.view.set(q.hop.ID, q.work)
		if moved := q.work - q.told; moved < half && -moved < half && (q.work > 0 || q.told == 0) {
			continue
		}
		q.told = q.work
		n.fabric.Announce(n.gpu, Note{Kind: Work, Hop: q.hop.ID, Work: q.work})
	}
}

// queue holds the batches that wait for one hop. Those that need slots of
// different classes, or none, wait in different lines: none can block another.
type queue struct {
	hop     *mesh.Hop
	shared  bool       // one line, first in, first out
	lines   [][]*Batch // by class needed; the last needs no slot
	packets int        // waiting
	own     int        // waiting packets of batches that begin here
	work    int64      // bytes waiting or posted, with the hop's Half for each copy
	posted  int        // copies
	flying  int        // packets of these copies
	credit  int        // of the weighted round-robin
	told    int64      // work that other GPUs know of
}

func newQueue(h *mesh.Hop, c Config) *queue {
	return &queue{hop: h, shared: c.SharedRing, lines: make([][]*Batch, c.classes()+1)}
}

// push puts a batch behind those that are at least as urgent.
func (q *queue) push(line int, b *Batch) {
	list := q.lines[line]
	at := len(list)
	for at > 0 && !q.shared && list[at-1].Left < b.Left {
		at--
	}
	q.lines[line] = slices.Insert(list, at, b)
	q.packets += len(b.Packets)
	q.work += b.Wire + q.hop.Half
	if b.Hop == 0 {
		q.own += len(b.Packets)
	}
}

// take removes the first packets of a line's first batch, and reports whether that is all
// of it.
func (q *queue) take(line, packets int) (part *Batch, all bool) {
	b := q.lines[line][0]
	q.packets -= packets
	if b.Hop == 0 {
		q.own -= packets
	}
	if packets < len(b.Packets) {
		q.work += q.hop.Half // one copy more
		return b.split(packets), false
	}
	q.lines[line] = slices.Delete(q.lines[line], 0, 1)
	return b, true
}

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
