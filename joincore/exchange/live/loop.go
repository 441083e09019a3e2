package live

import (
	"runtime"
	"slices"
	"sync"
	"time"

	"gpujoin/joincore/exchange"
)

// loop handles the messages to the nodes of some GPUs and ends the copies of their
// devices. Loops that share a device end its copies for each other.
type loop struct {
	x       *shuffle
	gpus    []int
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
			l.handle(&list[i])
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

// Costs by which the number of loops and the length of copies are chosen: the time that a
// loop needs for a copy, with all that belongs to it, and how many copies a further loop must
// be good for, because its goroutine has to start.
const (
	copyCost    = 8 * time.Microsecond
	leastCopies = 32
)

// makeLoops assigns the GPUs to loops: as many as spend a quarter of their time on the copies
// that the links carry, so that messages seldom wait, but no more than one for each GPU, or
// for each thread. Where batches become shorter than that, they keep a length for which the
// loops need half of their time.
func (x *shuffle) makeLoops() {
	m := x.fabric.Mesh()
	bytes := int64(0)
	for _, f := range x.flows {
		bytes += f.bytes
	}
	size := x.config.CopyBytes(m)
	rate := 0.0 // of all links that leave GPUs, in bytes a nanosecond
	for _, l := range m.Links {
		if l.From < m.GPUs() {
			rate += l.GBps
		}
	}
	carried := int64(rate * float64(copyCost)) // in the time of a copy
	n := max(min(int(4*carried/size)+1, int(bytes/size/leastCopies), m.GPUs()), 1)
	each := m.GPUs() / n // and no loop has more
	n = min((m.GPUs()+each-1)/each, runtime.GOMAXPROCS(0))
	if x.config.Least == 0 {
		x.config.Least = 2 * carried / int64(n)
	}
	for range n {
		x.loops = append(x.loops, &loop{x: x, box: newMailbox()})
	}
	for gpu := range m.GPUs() {
		l := x.loops[gpu*n/m.GPUs()]
		x.loopOf = append(x.loopOf, l)
		l.gpus = append(l.gpus, gpu)
		if d := x.fabric.Device(gpu); !slices.Contains(l.devices, d) {
			l.devices = append(l.devices, d)
		}
	}
}

// handle tells a node what a message says, unless the exchange has failed.
func (l *loop) handle(m *message) {
	x := l.x
	if x.stopped.Load() {
		return
	}
	switch m.kind {
	case offered:
		if err := x.nodes[m.to].Offer(m.flow, x.flows[m.flow].packets(x.config.Packet)...); err != nil {
			x.fail(err)
		}
	case heard:
		x.nodes[m.to].Heard(m.from, m.note)
	case learned:
		l.learn(m.from, m.note)
	case sent:
		x.nodes[m.to].Sent(m.batch)
	case arrived:
		x.nodes[m.to].Arrived(m.batch, m.into)
	}
}

// learn has the loop's nodes learn what another one, or one of them, announces.
func (l *loop) learn(from int, n exchange.Note) {
	for _, gpu := range l.gpus {
		if gpu != from {
			l.x.nodes[gpu].Learn(n)
		}
	}
}

// transfer is a copy under way. Transfers are used again.
type transfer struct {
	x      *shuffle
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

// message is something that a node is told.
type message struct {
	kind  messageKind
	to    int             // the node's GPU, but for learned
	from  int             // heard, learned
	note  exchange.Note   // heard, learned
	flow  exchange.Flow   // offered
	batch *exchange.Batch // sent, arrived
	into  exchange.Place  // arrived
}

type messageKind uint8

const (
	offered messageKind = iota
	heard
	learned // by all nodes of the loop
	sent
	arrived
)

// mailbox is a queue without bound: senders never wait.
type mailbox struct {
	mu     sync.Mutex
	more   sync.Cond
	list   []message
	closed bool
}

func newMailbox() *mailbox {
	m := &mailbox{}
	m.more.L = &m.mu
	return m
}

func (m *mailbox) put(x ...message) {
	m.mu.Lock()
	m.list = append(m.list, x...)
	m.mu.Unlock()
	m.more.Signal()
}

func (m *mailbox) close() {
	m.mu.Lock()
	m.closed = true
	m.mu.Unlock()
	m.more.Signal()
}

// take returns all messages; if wait is set and there are none, it waits for some. It
// keeps the memory of old messages for later ones. open is false if there will be no more.
func (m *mailbox) take(old []message, wait bool) (list []message, open bool) {
	clear(old)
	m.mu.Lock()
	defer m.mu.Unlock()
	for wait && len(m.list) == 0 && !m.closed {
		m.more.Wait()
	}
	list, m.list = m.list, old[:0]
	return list, len(list) > 0 || !m.closed
}
