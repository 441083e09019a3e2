package live

import (
	"runtime"
	"slices"
	"time"

	"gpujoin/joincore/exchange"
	"gpujoin/joincore/mesh"
)

// loop handles the messages to the nodes of some GPUs and ends the copies of their
// devices. Loops that share a device end its copies for each other.
type loop struct {
	x       *execution
	devices []int
	box     *mailbox
}

func (l *loop) run() {
	var list []message
	for polling := false; ; {
		var open bool
		if list, open = l.box.take(list, !polling); !open {
			return
		}
		for i := range list {
			l.x.handle(&list[i])
			l.x.done()
		}
		polling = false
		for _, d := range l.devices {
			if l.x.fabric.Poll(d) {
				polling = true
			}
		}
		if polling && len(list) == 0 {
			runtime.Gosched()
		}
	}
}

// Costs by which the number of loops is chosen: twice the time that a loop needs for a
// copy, so that messages seldom wait, and how many copies a further loop must be good for,
// because its goroutine has to start.
const (
	copyCost    = 16 * time.Microsecond
	leastCopies = 32
)

// makeLoops assigns the GPUs to loops: as many as copies need at the rates of the links,
// but no more than one for each GPU, or for each thread.
func (x *execution) makeLoops(bytes int64) {
	m := x.fabric.Mesh()
	size := x.config.CopyBytes(m)
	needed := int(outgoing(m)*float64(copyCost)/float64(size)) + 1
	n := max(min(needed, m.GPUs(), runtime.GOMAXPROCS(0), int(bytes/size/leastCopies)), 1)
	for range n {
		x.loops = append(x.loops, &loop{x: x, box: newMailbox()})
	}
	for gpu := range m.GPUs() {
		l := x.loops[gpu*n/m.GPUs()]
		x.loopOf = append(x.loopOf, l)
		if d := x.fabric.Device(gpu); !slices.Contains(l.devices, d) {
			l.devices = append(l.devices, d)
		}
	}
}

// outgoing is the rate of all links that leave GPUs, in bytes a nanosecond.
func outgoing(m *mesh.Mesh) float64 {
	sum := 0.0
	for _, l := range m.Links {
		if l.From < m.GPUs() {
			sum += l.GBps
		}
	}
	return sum
}

// handle tells a node what a message says, unless the exchange has failed.
func (x *execution) handle(m *message) {
	if x.stopped.Load() {
		return
	}
	n := x.nodes[m.to]
	switch m.kind {
	case offered:
		if err := n.Offer(m.flow, x.flows[m.flow].packets(x.config.Packet)...); err != nil {
			x.fail(err)
		}
	case heard:
		if m.note.Kind == exchange.Work {
			n.Learn(m.note) // there are many, and each step looks at all routes
		} else {
			n.Heard(m.from, m.note)
		}
	case sent:
		n.Sent(m.batch)
	case arrived:
		n.Arrived(m.batch, m.into)
	}
}

// transfer is a copy under way. Transfers are used again.
type transfer struct {
	x      *execution
	batch  *exchange.Batch
	into   exchange.Place
	pieces []Piece
	ended  func(error) // the method end, bound once
}

// end tells both GPUs that the copy is complete.
func (t *transfer) end(err error) {
	x, b := t.x, t.batch
	if err != nil {
		x.fail(err)
	} else {
		x.post(message{kind: sent, to: b.From(), batch: b})
		x.post(message{kind: arrived, to: b.To(), batch: b, into: t.into})
	}
	clear(t.pieces)
	t.batch, t.pieces = nil, t.pieces[:0]
	x.transfers.Put(t)
	x.done()
}
