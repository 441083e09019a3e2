package exchange

import (
	"slices"

	"gpujoin/joincore/mesh"
)

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
