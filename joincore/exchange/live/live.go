package live

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"gpujoin/joincore/exchange"
)

// ErrStall says that nothing was under way any more although bytes had not arrived.
var ErrStall = errors.New("the exchange stalled")

// Stats describes an exchange.
type Stats struct {
	Bytes     int64 // sent, each once
	Forwarded int64 // sent again by GPUs on the way
	Batches   int64
	Hops      int64 // of all batches' routes
	Copies    int64
	Waits     int64 // times that a sender found no free slot
	Time      time.Duration
}

// Add adds another exchange.
func (s *Stats) Add(o Stats) {
	s.Bytes += o.Bytes
	s.Forwarded += o.Forwarded
	s.Batches += o.Batches
	s.Hops += o.Hops
	s.Copies += o.Copies
	s.Waits += o.Waits
	s.Time += o.Time
}

// Exchange sends runs of bytes and returns when all have arrived. If a copy fails or
// ctx ends it posts no more copies, waits for those under way, and returns the error or
// ctx's cause; the targets then hold anything.
func Exchange(ctx context.Context, f Fabric, c exchange.Config, runs []Run) (Stats, error) {
	start := time.Now()
	if c.SharedRing || c.Central {
		return Stats{}, fmt.Errorf("%w: for the simulator only", exchange.ErrConfig)
	}
	of, err := flows(f.Mesh(), runs)
	if err != nil {
		return Stats{}, err
	}
	if len(of) == 0 {
		return Stats{}, context.Cause(ctx)
	}
	buffers, err := newBuffers(f, c)
	if err != nil {
		return Stats{}, err
	}
	defer buffers.free()
	x := &execution{fabric: f, config: c, flows: of, buffers: buffers, start: start, idle: make(chan struct{})}
	if err := x.run(ctx); err != nil {
		return Stats{}, err
	}
	return x.stats(), nil
}

// execution is an exchange under way. It implements exchange.Fabric.
type execution struct {
	fabric  Fabric
	config  exchange.Config
	flows   map[exchange.Flow]*flow
	buffers *buffers
	start   time.Time
	nodes   []*exchange.Node
	boxes   []*mailbox

	pending atomic.Int64 // messages not handled and copies under way
	copies  atomic.Int64
	stopped atomic.Bool // no more copies are posted
	idle    chan struct{}
	mu      sync.Mutex
	err     error // of the first failure
}

func (x *execution) run(ctx context.Context) error {
	traffic := x.traffic()
	for g := range traffic {
		n, err := exchange.NewNode(g, x.fabric.Mesh(), x, x.config, traffic)
		if err != nil {
			return err
		}
		x.nodes, x.boxes = append(x.nodes, n), append(x.boxes, newMailbox())
	}
	stop := context.AfterFunc(ctx, func() { x.fail(context.Cause(ctx)) })
	defer stop()

	var workers sync.WaitGroup
	for g := range x.nodes {
		workers.Go(func() { x.step(g) })
	}
	x.pending.Add(1) // until all flows are offered
	for key, f := range x.flows {
		x.post(key.From, func() {
			if err := x.nodes[key.From].Offer(key, f.packets(x.config.Packet)...); err != nil {
				x.fail(err)
			}
		})
	}
	x.done()
	<-x.idle
	for _, box := range x.boxes {
		box.close()
	}
	workers.Wait()
	return x.outcome()
}

func (x *execution) traffic() [][]int64 {
	traffic := make([][]int64, x.fabric.Mesh().GPUs())
	for g := range traffic {
		traffic[g] = make([]int64, len(traffic))
	}
	for key, f := range x.flows {
		traffic[key.From][key.To] = f.bytes
	}
	return traffic
}

// step handles the messages to a GPU.
func (x *execution) step(gpu int) {
	for {
		list := x.boxes[gpu].take()
		if len(list) == 0 {
			return
		}
		for _, do := range list {
			if !x.stopped.Load() {
				do()
			}
			x.done()
		}
	}
}

// post leaves a message to a GPU.
func (x *execution) post(gpu int, do func()) {
	x.pending.Add(1)
	x.boxes[gpu].put(do)
}

// done says that a message is handled or a copy complete, after all that follows from it
// is posted.
func (x *execution) done() {
	if x.pending.Add(-1) == 0 {
		close(x.idle)
	}
}

// fail stops the exchange; the first error counts.
func (x *execution) fail(err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.err == nil {
		x.err = err
	}
	x.stopped.Store(true)
}

func (x *execution) outcome() error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.err != nil {
		return x.err
	}
	for g, n := range x.nodes {
		if !n.Drained() {
			return fmt.Errorf("%w: GPU %d has not finished", ErrStall, g)
		}
	}
	return nil
}

// Now implements exchange.Fabric.
func (x *execution) Now() time.Duration { return time.Since(x.start) }

// Tell implements exchange.Fabric.
func (x *execution) Tell(from, to int, n exchange.Note) {
	x.post(to, func() { x.nodes[to].Heard(from, n) })
}

// Send implements exchange.Fabric.
func (x *execution) Send(b *exchange.Batch, into exchange.Place) {
	var pieces []Piece
	for i, p := range b.Packets {
		source, target := x.flows[b.Flow].at(p)
		if b.At.Class != exchange.Source {
			source = x.buffers.slot(b.From(), b.Route.GPUs[b.Hop-1], b.At.Class, b.At.First+i)
		}
		if into.Class != exchange.Final {
			target = x.buffers.slot(b.To(), b.From(), into.Class, into.First+i)
		}
		pieces = join(pieces, Piece{source, target, p.Wire})
	}
	x.pending.Add(1)
	x.copies.Add(1)
	x.fabric.Copy(b.Route.Hops[b.Hop], pieces, func(err error) {
		if err != nil {
			x.fail(err)
		} else {
			x.post(b.From(), func() { x.nodes[b.From()].Sent(b) })
			x.post(b.To(), func() { x.nodes[b.To()].Arrived(b, into) })
		}
		x.done()
	})
}

func (x *execution) stats() Stats {
	s := Stats{Copies: x.copies.Load(), Time: time.Since(x.start)}
	for _, f := range x.flows {
		s.Bytes += f.bytes
	}
	for _, n := range x.nodes {
		st := n.Stats()
		s.Forwarded += st.Forwarded
		s.Batches += st.Batches
		s.Hops += st.Hops
		s.Waits += st.Asked
	}
	return s
}
