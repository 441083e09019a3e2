// Package exchange moves rows between GPUs: the data distribution of MG-Join (section 4 of the
// paper) as state machines. A Node is one GPU's part. It decides which packets travel over
// which routes, queues them, counts the receive buffers of its neighbours, and forwards what
// passes through. It has no clock, no goroutine and no memory of its own: a Fabric carries out
// the copies and calls the Node when one is complete. Package sim is a Fabric with a virtual
// clock; package live has one of goroutines and real copies.
//
// The methods of a Node must not run at the same time. A Fabric calls them from
// its own event loop, never from within Send or Tell.
package exchange

import (
	"errors"
	"fmt"
	"slices"

	"gpujoin/joincore/mesh"
)

// ErrTraffic is wrapped by errors about traffic that does not fit the mesh or
// what was announced.
var ErrTraffic = errors.New("invalid exchange traffic")

// Node is one GPU's part in an exchange.
type Node struct {
	gpu    int
	mesh   *mesh.Mesh
	fabric Fabric
	config Config
	view   View
	routes [][]mesh.Route // to each GPU, as far as the policy uses them; nil: nothing is sent there
	first  [][]*queue     // to each GPU: of the first hops of these routes

	outgoing []*outflow // flows that begin here, in the order of their first Offer
	left     []int64    // bytes of each destination whose route is not chosen
	coming   []int64    // bytes of each destination not offered yet
	missing  int64      // bytes that this node will still receive
	least    int        // packets that a batch has at least, as far as they are left
	chunk    int        // most packets of a copy
	mine     int        // own batches that wait
	waiting  []*outflow // what ready returned last

	queues []*queue      // of the hops that begin here
	byHop  []*queue      // the same by hop ID
	shared [][]slotState // with each neighbour, by class
	held   bool          // by a Conductor
	stats  Stats
}

// slotState is what a node and a neighbour know of each other's receive buffers of a class.
type slotState struct {
	free   Slots // that this node may fill there
	asked  bool  // for more
	freed  Slots // here, which the neighbour does not know to be free
	asking bool  // the neighbour has asked
}

// Stats counts what a node did.
type Stats struct {
	Batches, Hops int64 // batches that began here, and the hops of their routes
	Forwarded     int64 // bytes for others
	Asked         int64 // times that no slot was free
}

// Add adds what another node did.
func (s *Stats) Add(o Stats) {
	s.Batches += o.Batches
	s.Hops += o.Hops
	s.Forwarded += o.Forwarded
	s.Asked += o.Asked
}

// outflow is what waits for a route.
type outflow struct {
	flow    Flow
	packets []Packet
}

// NewNodes returns the nodes of all GPUs of a mesh. traffic[from][to] is how many bytes,
// before compression, each GPU will offer for each other one: the histograms know.
func NewNodes(m *mesh.Mesh, f Fabric, c Config, traffic [][]int64) ([]*Node, error) {
	nodes := make([]*Node, m.GPUs())
	var first *View
	for gpu := range nodes {
		n, err := newNode(gpu, m, f, c, traffic)
		if err != nil {
			return nil, err
		}
		if first == nil {
			v := newView(m)
			v.copy = n.view.copy
			seed(&v, n.config, traffic)
			first = &v
		}
		n.view.see(first)
		for _, q := range n.queues { // whose delays it knows
			n.view.set(q.hop.ID, 0)
		}
		nodes[gpu] = n
	}
	return nodes, nil
}

func newNode(gpu int, m *mesh.Mesh, f Fabric, c Config, traffic [][]int64) (*Node, error) {
	if err := c.Check(); err != nil {
		return nil, err
	}
	c = c.on(m)
	gpus := m.GPUs()
	if len(traffic) != gpus {
		return nil, fmt.Errorf("%w: %d rows of traffic for %d GPUs", ErrTraffic, len(traffic), gpus)
	}
	n := &Node{gpu: gpu, mesh: m, fabric: f, config: c, left: make([]int64, gpus), coming: make([]int64, gpus),
		routes: make([][]mesh.Route, gpus)}
	for from, row := range traffic {
		if len(row) != gpus {
			return nil, fmt.Errorf("%w: %d columns of traffic for %d GPUs", ErrTraffic, len(row), gpus)
		}
		for to, bytes := range row {
			if bytes < 0 || bytes > 0 && (from == to || len(m.Routes(from, to, c.Mid)) == 0) {
				return nil, fmt.Errorf("%w: %d bytes from %d to %d", ErrTraffic, bytes, from, to)
			}
			if from == gpu && bytes > 0 {
				n.routes[to] = c.Policy.Usable(m.Routes(from, to, c.Mid))
				n.left[to], n.coming[to] = bytes, bytes
			}
			if to == gpu {
				n.missing += bytes
			}
		}
	}
	hops := m.Hops()
	n.view = newView(m)
	n.byHop = make([]*queue, len(hops))
	for i := range hops {
		if hops[i].From == gpu {
			q := newQueue(&hops[i], c)
			n.queues = append(n.queues, q)
			n.byHop[i] = q
			n.least = max(n.least, int((9*hops[i].Half+c.Packet-1)/c.Packet))
		}
	}
	n.first = make([][]*queue, gpus)
	for to, routes := range n.routes {
		for i := range routes {
			if q := n.byHop[routes[i].Hops[0].ID]; !slices.Contains(n.first[to], q) {
				n.first[to] = append(n.first[to], q)
			}
		}
	}
	n.chunk = c.chunk(m, n.least)
	n.least = max(n.least, int(min((c.Least+c.Packet-1)/c.Packet, int64(n.chunk))))
	n.view.copy = int64(n.chunk) * c.Packet
	n.shared = make([][]slotState, gpus)
	for g := range gpus {
		n.shared[g] = slices.Repeat([]slotState{{free: slots(0, c.Slots)}}, c.classes())
	}
	return n, nil
}

// Offer gives the node packets of a flow that begins here, in order. All of a
// pair's flows together must not have more bytes than was announced.
func (n *Node) Offer(f Flow, packets ...Packet) error {
	if f.From != n.gpu || f.To < 0 || f.To >= len(n.coming) {
		return fmt.Errorf("%w: flow %+v at GPU %d", ErrTraffic, f, n.gpu)
	}
	o := n.outflow(f)
	o.packets = slices.Grow(o.packets, len(packets))
	for _, p := range packets {
		if p.Wire < 1 || p.Wire > n.config.Packet || p.Raw < 1 || p.Raw > n.coming[f.To] {
			return fmt.Errorf("%w: packet %+v of flow %+v, %d bytes were left", ErrTraffic, p, f, n.coming[f.To])
		}
		n.coming[f.To] -= p.Raw
		o.packets = append(o.packets, p)
	}
	n.step()
	return nil
}

func (n *Node) outflow(f Flow) *outflow {
	for _, o := range n.outgoing {
		if o.flow == f {
			return o
		}
	}
	o := &outflow{flow: f}
	n.outgoing = append(n.outgoing, o)
	return o
}

// Sent says that the copy of a batch is complete: its packets need no memory here any more.
func (n *Node) Sent(b *Batch) {
	q := n.byHop[b.Route.Hops[b.Hop].ID]
	q.posted--
	q.flying -= len(b.Packets)
	q.work -= b.Wire + q.hop.Half
	if b.At.Class >= 0 {
		n.release(b.Route.GPUs[b.Hop-1], b.At.Class, slots(b.At.First, len(b.Packets)))
	}
	n.step()
}

// Arrived says that a batch is here, at the place that its sender chose.
func (n *Node) Arrived(b *Batch, at Place) {
	if b.last() {
		for _, p := range b.Packets {
			n.missing -= p.Raw
		}
		return
	}
	// The sender may still look at its batch: the next hop gets one of its own.
	next := newBatch(b.Flow, b.Packets, b.Route, b.Hop+1, at, b.Left)
	n.stats.Forwarded += next.Wire
	n.queue(next)
	n.step()
}

// Heard takes a note from another GPU.
func (n *Node) Heard(from int, x Note) {
	switch x.Kind {
	case Work:
		n.view.set(x.Hop, x.Work)
	case Ask:
		n.shared[from][x.Class].asking = true
		n.release(from, x.Class, 0)
	case Freed:
		c := &n.shared[from][x.Class]
		c.free, c.asked = c.free|x.Slots, false
	}
	n.step()
}

// Learn takes a Work note without acting on it: the node acts on it when a copy ends,
// slots become free or packets are offered next. One of these always happens while
// packets wait for a route.
func (n *Node) Learn(x Note) { n.view.set(x.Hop, x.Work) }

// Drained says whether the node has nothing left to send, forward or receive. A drained node
// may still have to forward for others: an exchange is over when all nodes are drained.
func (n *Node) Drained() bool {
	waits := func(q *queue) bool { return q.packets > 0 || q.posted > 0 }
	return n.missing <= 0 && n.total() <= 0 && !slices.ContainsFunc(n.queues, waits)
}

// total is how many bytes a node has left to send.
func (n *Node) total() int64 {
	var sum int64
	for _, bytes := range n.left {
		sum += bytes
	}
	return sum
}

// Stats returns what the node has done so far.
func (n *Node) Stats() Stats { return n.stats }

// release frees slots here, and tells the neighbour that fills them if it waits.
func (n *Node) release(neighbour, class int, s Slots) {
	c := &n.shared[neighbour][class]
	c.freed |= s
	if c.asking && c.freed != 0 {
		n.fabric.Tell(n.gpu, neighbour, Note{Kind: Freed, Class: class, Slots: c.freed})
		c.freed, c.asking = 0, false
	}
}

// queue puts a batch into the queue of its next hop.
func (n *Node) queue(b *Batch) {
	n.byHop[b.Route.Hops[b.Hop].ID].push(n.line(b), b)
}

// line is the class that a batch needs at the other end of its hop, or one more
// than there are classes if it needs no slot.
func (n *Node) line(b *Batch) int {
	if b.last() && !n.config.SharedRing { // which has all in one line
		return n.config.classes()
	}
	return n.class(b)
}

// step does all that can be done now.
func (n *Node) step() {
	if n.held {
		return
	}
	for {
		n.post()
		if n.config.Central || !n.admit() {
			break
		}
	}
	n.tell()
}
