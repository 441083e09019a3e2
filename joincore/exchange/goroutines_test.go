package exchange_test

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"gpujoin/joincore/exchange"
	"gpujoin/joincore/mesh"
)

const (
	rowBytes = 8
	poison   = 0xdb
)

// fleet is a fabric of goroutines: one for each GPU, which steps its node, and
// one for each hop, which copies bytes. All memory begins poisoned, and slots
// are poisoned again when they become free.
type fleet struct {
	t       *testing.T
	mesh    *mesh.Mesh
	config  exchange.Config
	start   time.Time
	nodes   []*exchange.Node
	inbox   []*mailbox[func()]
	hops    []*mailbox[func()]
	source  map[exchange.Flow][]byte
	final   map[exchange.Flow][]byte
	buffers map[[3]int][]byte // by GPU, neighbour, class
}

// mailbox is a queue without bound: writers never wait.
type mailbox[T any] struct {
	mu     sync.Mutex
	more   sync.Cond
	list   []T
	closed bool
}

func newMailbox[T any]() *mailbox[T] {
	m := &mailbox[T]{}
	m.more.L = &m.mu
	return m
}

func (m *mailbox[T]) put(x T) {
	m.mu.Lock()
	m.list = append(m.list, x)
	m.mu.Unlock()
	m.more.Signal()
}

func (m *mailbox[T]) close() {
	m.mu.Lock()
	m.closed = true
	m.mu.Unlock()
	m.more.Signal()
}

// take waits for the next entry; ok is false once the mailbox is closed.
func (m *mailbox[T]) take() (x T, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for len(m.list) == 0 && !m.closed {
		m.more.Wait()
	}
	if m.closed {
		return x, false
	}
	x, m.list = m.list[0], m.list[1:]
	return x, true
}

// Now implements exchange.Fabric.
func (f *fleet) Now() time.Duration { return time.Since(f.start) }

// Tell implements exchange.Fabric.
func (f *fleet) Tell(from, to int, n exchange.Note) {
	f.inbox[to].put(func() { f.nodes[to].Heard(from, n) })
}

// Send implements exchange.Fabric.
func (f *fleet) Send(b *exchange.Batch, into exchange.Place) {
	f.hops[b.Route.Hops[b.Hop].ID].put(func() {
		for i, p := range b.Packets {
			from := f.memory(b, b.From(), b.At, i, p)
			if n := copy(f.memory(b, b.To(), into, i, p), from); n != len(from) || n == 0 {
				f.t.Errorf("%d of %d bytes were copied", n, len(from))
			}
			if b.At.Class >= 0 {
				fill(from)
			}
		}
		f.inbox[b.From()].put(func() { f.nodes[b.From()].Sent(b) })
		f.inbox[b.To()].put(func() { f.nodes[b.To()].Arrived(b, into) })
	})
}

// memory is where a packet of a batch is, or belongs, on a GPU.
func (f *fleet) memory(b *exchange.Batch, gpu int, at exchange.Place, i int, p exchange.Packet) []byte {
	low, high := p.Rows.Low*rowBytes, p.Rows.High*rowBytes
	switch at.Class {
	case exchange.Source:
		return f.source[b.Flow][low:high]
	case exchange.Final:
		return f.final[b.Flow][low:high]
	}
	neighbour := b.From()
	if gpu == b.From() {
		neighbour = b.Route.GPUs[b.Hop-1]
	}
	slot := int64(at.First+i) * f.config.Packet
	return f.buffers[[3]int{gpu, neighbour, at.Class}][slot : slot+p.Wire]
}

func fill(memory []byte) {
	for i := range memory {
		memory[i] = poison
	}
}

func poisoned(bytes int64) []byte {
	memory := make([]byte, bytes)
	fill(memory)
	return memory
}

func row(f exchange.Flow, i int64) uint64 {
	return uint64(f.From)<<56 | uint64(f.To)<<48 | uint64(f.Tag)<<40 | uint64(i)
}

// Bytes arrive where they belong when goroutines drive the nodes: no memory is
// read before it is written or after it is free. The race detector
// sees both.
func TestGoroutinesDriveNodes(t *testing.T) {
	defer goleak.VerifyNone(t)
	m, err := mesh.Preset("dgx1")
	if err != nil {
		t.Fatal(err)
	}
	for _, policy := range []exchange.Policy{exchange.Adaptive{}, exchange.Bandwidth{}} {
		for _, slots := range []int{1, 8} {
			t.Run(fmt.Sprintf("%T %d slots", policy, slots), func(t *testing.T) {
				c := exchange.Config{Packet: 20 * rowBytes, Batch: 4, Slots: slots, Mid: 3, Window: 8, Posted: 2, Policy: policy}
				drive(t, m, c)
			})
		}
	}
}

func drive(t *testing.T, m *mesh.Mesh, c exchange.Config) {
	r := rand.New(rand.NewPCG(1, uint64(c.Slots)))
	f := &fleet{t: t, mesh: m, config: c, start: time.Now(), source: map[exchange.Flow][]byte{}, final: map[exchange.Flow][]byte{}, buffers: map[[3]int][]byte{}}
	gpus := m.GPUs()
	traffic := make([][]int64, gpus)
	rows := map[exchange.Flow]int64{}
	for from := range gpus {
		traffic[from] = make([]int64, gpus)
		for to := range gpus {
			for class := range c.Mid {
				f.buffers[[3]int{from, to, class}] = poisoned(c.Packet * int64(c.Slots))
			}
			for tag := range 2 {
				flow := exchange.Flow{From: from, To: to, Tag: tag}
				n := r.Int64N(200)
				if from == to || n == 0 {
					continue
				}
				rows[flow] = n
				traffic[from][to] += n * rowBytes
				f.final[flow] = poisoned(n * rowBytes)
				for i := range n {
					f.source[flow] = binary.LittleEndian.AppendUint64(f.source[flow], row(flow, i))
				}
			}
		}
	}
	for range m.Hops() {
		f.hops = append(f.hops, newMailbox[func()]())
	}
	for g := range gpus {
		n, err := exchange.NewNode(g, m, f, c, traffic)
		if err != nil {
			t.Fatal(err)
		}
		f.nodes, f.inbox = append(f.nodes, n), append(f.inbox, newMailbox[func()]())
	}

	var drained, workers sync.WaitGroup
	drained.Add(gpus)
	for g, n := range f.nodes {
		workers.Go(func() {
			told := false
			for {
				if !told && n.Drained() {
					told = true
					drained.Done()
				}
				do, ok := f.inbox[g].take()
				if !ok {
					return
				}
				do()
			}
		})
	}
	for _, h := range f.hops {
		workers.Go(func() {
			for do, ok := h.take(); ok; do, ok = h.take() {
				do()
			}
		})
	}
	for flow, n := range rows {
		f.inbox[flow.From].put(func() {
			if err := f.nodes[flow.From].Offer(flow, exchange.Cut(exchange.Range{High: n}, rowBytes, c.Packet)...); err != nil {
				t.Error(err)
			}
		})
	}

	over := make(chan struct{})
	go func() {
		drained.Wait()
		close(over)
	}()
	select {
	case <-over:
	case <-time.After(2 * time.Minute):
		t.Fatal("the exchange hangs")
	}
	for _, box := range append(f.hops, f.inbox...) {
		box.close()
	}
	workers.Wait()
	for flow, n := range rows {
		for i := range n {
			if got := binary.LittleEndian.Uint64(f.final[flow][i*rowBytes:]); got != row(flow, i) {
				t.Fatalf("row %d of %+v: %#x", i, flow, got)
			}
		}
	}
}
