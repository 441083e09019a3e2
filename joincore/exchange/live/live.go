// Package live executes exchanges with real copies: it runs one exchange.Node for
// each GPU, has a Fabric carry out the nodes' copies, and passes notes between them.
//
// The methods of a node must not run at the same time. So each GPU belongs to a loop: a
// goroutine that handles the messages to its nodes and, without sleeping, asks the fabric
// which copies have ended. A loop sleeps only while none of its copies is under way,
// because waking a sleeping thread takes longer than a copy of some megabytes. All GPUs
// share one loop, on the caller's goroutine, as long as it can post copies faster than
// the links complete them; otherwise loops divide the GPUs.
//
// Where no GPU sends to more than one other, over one hop, nodes have nothing to decide. Such
// an exchange runs without them: the caller's goroutine posts the copies and waits for them.
//
// An exchange ends when no message and no copy is left: either all nodes are drained, or
// it has stalled, which is an error.
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
	exchange.Stats       // of all nodes
	Bytes          int64 // sent, each once
	Copies         int64
	Time           time.Duration
}

// Add adds another exchange.
func (s *Stats) Add(o Stats) {
	s.Stats.Add(o.Stats)
	s.Bytes += o.Bytes
	s.Copies += o.Copies
	s.Time += o.Time
}

// Exchange sends runs of bytes and returns when all have arrived. Packets of no size get the
// one that Config.Sized chooses. If a copy fails or ctx ends it posts no more copies, waits for
// those under way, and returns the error or ctx's cause; the targets then hold anything.
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
	traffic := trafficOf(f.Mesh().GPUs(), of)
	if c.Packet == 0 {
		c = c.Sized(f.Mesh(), traffic)
	}
	if err := c.Check(); err != nil {
		return Stats{}, err
	}
	if u := newUnrouted(f, c, of); u != nil {
		if err := u.exchange(ctx, c.CopyBytes(f.Mesh()), c.Batch); err != nil {
			return Stats{}, err
		}
		return u.done(start), nil
	}
	buffers, err := newBuffers(f, c)
	if err != nil {
		return Stats{}, err
	}
	defer buffers.free()
	x := &shuffle{fabric: f, config: c, flows: of, traffic: traffic, buffers: buffers, start: start}
	if err := x.run(ctx); err != nil {
		return Stats{}, err
	}
	return x.stats(), nil
}

// shuffle is an exchange under way. It implements exchange.Fabric.
type shuffle struct {
	fabric  Fabric
	config  exchange.Config
	flows   map[exchange.Flow]*flow
	traffic [][]int64
	buffers *buffers
	start   time.Time
	nodes   []*exchange.Node
	loops   []*loop
	loopOf  []*loop // by GPU

	pending   atomic.Int64 // messages not handled and copies under way
	copies    atomic.Int64
	stopped   atomic.Bool // no more copies are posted
	transfers sync.Pool
	mu        sync.Mutex
	err       error // of the first failure
}

func (x *shuffle) run(ctx context.Context) error {
	x.makeLoops()
	var err error
	if x.nodes, err = exchange.NewNodes(x.fabric.Mesh(), x, x.config, x.traffic); err != nil {
		return err
	}
	x.transfers.New = func() any {
		t := &transfer{x: x}
		t.ended = t.end
		return t
	}
	stop := context.AfterFunc(ctx, func() { x.fail(context.Cause(ctx)) })
	defer stop()

	x.pending.Add(1) // until all flows are offered
	for key := range x.flows {
		x.post(message{kind: offered, to: key.From, flow: key})
	}
	x.done()
	var others sync.WaitGroup
	for _, l := range x.loops[1:] {
		others.Go(l.run)
	}
	x.loops[0].run()
	others.Wait()
	return x.outcome()
}

// trafficOf is how many bytes each GPU sends to each other one.
func trafficOf(gpus int, flows map[exchange.Flow]*flow) [][]int64 {
	traffic := make([][]int64, gpus)
	for g := range traffic {
		traffic[g] = make([]int64, gpus)
	}
	for key, f := range flows {
		traffic[key.From][key.To] = f.bytes
	}
	return traffic
}

// post leaves a message to a GPU.
func (x *shuffle) post(m message) {
	x.pending.Add(1)
	x.loopOf[m.to].box.put(m)
}

// done says that a message is handled or a copy complete, after all that follows from it
// is posted.
func (x *shuffle) done() {
	if x.pending.Add(-1) == 0 {
		for _, l := range x.loops {
			l.box.close()
		}
	}
}

// fail stops the exchange; the first error counts.
func (x *shuffle) fail(err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.err == nil {
		x.err = err
	}
	x.stopped.Store(true)
}

func (x *shuffle) outcome() error {
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

func (x *shuffle) Tell(from, to int, n exchange.Note) {
	x.post(message{kind: heard, to: to, from: from, note: n})
}

// Announce implements exchange.Fabric. The nodes only learn of the work: there are many of
// these notes, and each step looks at all routes.
func (x *shuffle) Announce(from int, n exchange.Note) {
	own := x.loopOf[from] // which this goroutine runs
	own.learn(from, n)
	for _, l := range x.loops {
		if l != own {
			x.pending.Add(1)
			l.box.put(message{kind: learned, from: from, note: n})
		}
	}
}

func (x *shuffle) Send(b *exchange.Batch, into exchange.Place) {
	t := x.transfers.Get().(*transfer)
	t.batch, t.into = b, into
	for i, p := range b.Packets {
		source, target := x.flows[b.Flow].at(p)
		if b.At.Class != exchange.Source {
			source = x.buffers.slot(b.From(), b.Route.GPUs[b.Hop-1], b.At.Class, b.At.First+i)
		}
		if into.Class != exchange.Final {
			target = x.buffers.slot(b.To(), b.From(), into.Class, into.First+i)
		}
		t.pieces = join(t.pieces, Piece{source, target, p.Wire})
	}
	x.pending.Add(1)
	x.copies.Add(1)
	x.fabric.Copy(b.Route.Hops[b.Hop], t.pieces, t.ended)
}

func (x *shuffle) stats() Stats {
	s := Stats{Copies: x.copies.Load(), Time: time.Since(x.start)}
	for _, f := range x.flows {
		s.Bytes += f.bytes
	}
	for _, n := range x.nodes {
		s.Stats.Add(n.Stats())
	}
	return s
}

// buffers are the receive buffers of all GPUs: for each neighbour and class some slots.
type buffers struct {
	fabric  Fabric
	config  exchange.Config
	of      []Buffer // by GPU; nil: nothing is forwarded
	ordinal [][]int  // by GPU and neighbour: which part is the neighbour's
}

func newBuffers(f Fabric, c exchange.Config) (*buffers, error) {
	m := f.Mesh()
	b := &buffers{fabric: f, config: c, of: make([]Buffer, m.GPUs()), ordinal: make([][]int, m.GPUs())}
	for gpu := range m.GPUs() {
		b.ordinal[gpu] = make([]int, m.GPUs())
		count := 0
		for from := range m.GPUs() {
			b.ordinal[gpu][from] = count
			if exchange.Forwards(m, from, gpu) {
				count++
			}
		}
		bytes := c.BufferBytes(m, gpu)
		if bytes == 0 {
			continue
		}
		var err error
		if b.of[gpu], err = f.Alloc(gpu, bytes); err != nil {
			b.free()
			return nil, err
		}
	}
	return b, nil
}

func (b *buffers) free() {
	for _, x := range b.of {
		if x != nil {
			b.fabric.Free(x)
		}
	}
}

// slot returns where a slot is that a neighbour of a GPU fills.
func (b *buffers) slot(gpu, neighbour, class, slot int) Place {
	slots := (b.ordinal[gpu][neighbour]*b.config.Mid+class)*b.config.Slots + slot
	return Place{b.of[gpu], int64(slots) * b.config.Packet}
}
