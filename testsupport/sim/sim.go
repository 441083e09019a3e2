// Package sim drives exchange.Node with a virtual clock. Links are servers that
// divide their bandwidth fairly among the copies that cross them; a copy costs
// its bytes and Half more. Everything else, routing, queues, flow control, is
// the code that moves bytes between real GPUs.
package sim

import (
	"container/heap"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"hash/fnv"
	"math/rand/v2"
	"time"

	"gpujoin/joincore/exchange"
	"gpujoin/joincore/mesh"
)

// ErrStall says that nothing will happen any more and bytes have not arrived:
// a deadlock. ErrBroken says that a packet was lost, doubled or overwritten.
var (
	ErrStall  = errors.New("the exchange stalled")
	ErrBroken = errors.New("the exchange broke its rules")
)

// Options describe a run.
type Options struct {
	Mesh   *mesh.Mesh
	Config exchange.Config
	// Traffic is how many bytes each GPU sends to each other one.
	Traffic [][]int64
	// Pass is how fast the partition pass of a GPU makes rows to send, in GB/s;
	// 0 means that all rows are there at the beginning.
	Pass float64
	// Note is how long a note is under way.
	Note time.Duration
	// Sync is the time of one synchronisation of all GPUs (Config.Central). No
	// bytes move in it: in the paper, what synchronises are the threads that send.
	Sync time.Duration
	// Seed shuffles what has no defined order: the pass's packets and, if Jitter
	// is set, the time at which events are noticed, by at most that much.
	Seed   uint64
	Jitter time.Duration
}

// Result is what a run measured.
type Result struct {
	Time    time.Duration // from the beginning until the last packet arrived
	Bytes   int64
	Batches int64
	Hops    float64 // mean hops of a batch
	Asked   int64   // times that a sender found no free slot
	Rounds  int64   // of the conductor
	Trace   uint64  // a hash of all events: equal for equal options
}

// GBps is the throughput.
func (r *Result) GBps() float64 { return float64(r.Bytes) / float64(r.Time) }

// Run simulates an exchange until all packets have arrived.
func Run(o Options) (*Result, error) {
	s, err := start(o)
	if err != nil {
		return nil, err
	}
	if err := s.run(); err != nil {
		return nil, err
	}
	r := &Result{Time: s.lastArrival, Trace: s.trace.Sum64(), Rounds: s.rounds}
	for _, row := range o.Traffic {
		for _, bytes := range row {
			r.Bytes += bytes
		}
	}
	var hops int64
	for _, n := range s.nodes {
		st := n.Stats()
		r.Batches += st.Batches
		r.Asked += st.Asked
		hops += st.Hops
	}
	if r.Batches > 0 {
		r.Hops = float64(hops) / float64(r.Batches)
	}
	return r, nil
}

type simulator struct {
	o           Options
	now         time.Duration
	nodes       []*exchange.Node
	conductor   *exchange.Conductor
	events      events
	serial      int
	links       *links
	check       *checker
	rand        *rand.Rand
	trace       hash.Hash64
	heard       [][]time.Duration // when the latest note from a GPU to another arrives
	lastArrival time.Duration
	rounds      int64
	syncing     bool
}

func start(o Options) (*simulator, error) {
	gpus := o.Mesh.GPUs()
	s := &simulator{o: o, links: newLinks(o.Mesh), rand: rand.New(rand.NewPCG(o.Seed, 1)), trace: fnv.New64a(),
		check: newChecker(o.Mesh.Engines), heard: make([][]time.Duration, gpus)}
	var err error
	if s.nodes, err = exchange.NewNodes(o.Mesh, s, o.Config, o.Traffic); err != nil {
		return nil, err
	}
	for g := range gpus {
		s.heard[g] = make([]time.Duration, gpus)
	}
	if o.Config.Central {
		s.conductor = exchange.NewConductor(o.Mesh, s.nodes)
	}
	for g := range gpus {
		s.pass(g)
	}
	return s, nil
}

// pass schedules the offers of a GPU: packets of all destinations in turns, in
// the proportion of their bytes, as a pass over rows in random order makes them.
func (s *simulator) pass(gpu int) {
	type offer struct {
		at     float64 // 0 to 1: part of its flow
		flow   exchange.Flow
		packet exchange.Packet
	}
	var all []offer
	for to, bytes := range s.o.Traffic[gpu] {
		if bytes == 0 {
			continue
		}
		f := exchange.Flow{From: gpu, To: to}
		packets := exchange.Cut(exchange.Range{High: bytes}, 1, s.o.Config.Packet)
		for i, p := range packets {
			all = append(all, offer{(float64(i) + s.rand.Float64()) / float64(len(packets)), f, p})
		}
		s.check.expect(f, len(packets))
	}
	sortBy(all, func(o offer) float64 { return o.at })
	// Within a flow, packets keep their order.
	next := map[exchange.Flow]int64{}
	var made int64
	for _, o := range all {
		bytes := min(s.o.Config.Packet, s.o.Traffic[gpu][o.flow.To]-next[o.flow])
		p := exchange.Packet{Rows: exchange.Range{Low: next[o.flow], High: next[o.flow] + bytes}, Raw: bytes, Wire: bytes}
		next[o.flow] += bytes
		made += bytes
		var at time.Duration
		if s.o.Pass > 0 {
			at = time.Duration(float64(made) / s.o.Pass)
		}
		s.at(at, func() error { return s.nodes[gpu].Offer(o.flow, p) })
	}
}

// Send implements exchange.Fabric.
func (s *simulator) Send(b *exchange.Batch, into exchange.Place) {
	s.note(1, int64(b.From()), int64(b.To()), b.Packets[0].Rows.Low, int64(len(b.Packets)), int64(into.Class), int64(into.First))
	s.check.send(b, into)
	s.links.post(s.now, b, into)
}

// Tell implements exchange.Fabric.
func (s *simulator) Tell(from, to int, n exchange.Note) {
	at := max(s.now+s.o.Note+s.jitter(), s.heard[from][to])
	s.heard[from][to] = at
	s.at(at, func() error {
		s.nodes[to].Heard(from, n)
		return nil
	})
}

// Announce implements exchange.Fabric.
func (s *simulator) Announce(from int, n exchange.Note) {
	for to := range s.nodes {
		if to != from {
			s.Tell(from, to, n)
		}
	}
}

func (s *simulator) jitter() time.Duration {
	if s.o.Jitter == 0 {
		return 0
	}
	return time.Duration(s.rand.Int64N(int64(s.o.Jitter)))
}

// note adds to the trace.
func (s *simulator) note(of ...int64) {
	var b [8]byte
	for _, x := range append(of, int64(s.now)) {
		binary.LittleEndian.PutUint64(b[:], uint64(x))
		_, _ = s.trace.Write(b[:]) // never fails
	}
}

func (s *simulator) run() error {
	for {
		s.synchronise()
		end, done := s.links.next()
		if len(s.events) == 0 && done == nil {
			break
		}
		if done == nil || len(s.events) > 0 && s.events[0].at <= end {
			e := heap.Pop(&s.events).(event)
			s.now = e.at
			if err := e.do(); err != nil {
				return err
			}
		} else {
			s.now = end
			s.links.finish(end, done)
			s.at(end+done.hop().Latency+s.jitter(), func() error { return s.complete(done) })
		}
		if s.check.err != nil {
			return fmt.Errorf("%w after %v: %w", ErrBroken, s.now, s.check.err)
		}
	}
	for g, n := range s.nodes {
		if !n.Drained() {
			return fmt.Errorf("%w after %v: GPU %d has not finished", ErrStall, s.now, g)
		}
	}
	if err := s.check.finish(); err != nil {
		return fmt.Errorf("%w: %w", ErrBroken, err)
	}
	return nil
}

// complete tells both ends that a copy is complete.
func (s *simulator) complete(c *job) error {
	b := c.batch
	s.note(2, int64(b.From()), int64(b.To()), b.Packets[0].Rows.Low, int64(len(b.Packets)))
	s.check.complete(b, c.into)
	s.lastArrival = s.now
	s.nodes[b.From()].Sent(b)
	s.nodes[b.To()].Arrived(b, c.into)
	return nil
}

// synchronise begins a round of the conductor where all GPUs wait for one.
func (s *simulator) synchronise() {
	if s.conductor == nil || s.syncing || !s.conductor.Ready() {
		return
	}
	s.syncing = true
	s.rounds++
	s.conductor.Hold()
	s.links.pause(s.o.Sync)
	s.at(s.now+s.o.Sync, func() error {
		s.syncing = false
		s.conductor.Choose()
		return nil
	})
}
