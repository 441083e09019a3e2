package exchange

// post gives the fabric copies as long as a hop can take one and a batch can
// use it.
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
			if at, packets = n.free[b.To()][class].run(packets); packets == 0 {
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
	if !n.asked[neighbour][class] {
		n.asked[neighbour][class] = true
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
		n.free[b.To()][into.Class] &^= slots(first, count)
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
