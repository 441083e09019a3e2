package exchange

import (
	"math/bits"

	"gpujoin/joincore/mesh"
)

// Flow is what one GPU sends to another.
type Flow struct{ From, To int }

// Range is rows [Low, High) of a flow, as the source numbers them.
type Range struct{ Low, High int64 }

// Packet is the unit that receive buffers are made of.
type Packet struct {
	Rows Range
	Raw  int64 // bytes before compression
	Wire int64 // bytes that travel; at most Config.Packet
}

// Cut divides rows of some width into packets of at most the given bytes, not compressed.
func Cut(r Range, width, packet int64) []Packet {
	each := max(packet/width, 1)
	list := make([]Packet, 0, max(r.High-r.Low+each-1, 0)/each)
	for low := r.Low; low < r.High; low += each {
		high := min(low+each, r.High)
		bytes := (high - low) * width
		list = append(list, Packet{Range{low, high}, bytes, bytes})
	}
	return list
}

// Batch is consecutive packets of one flow on one route: one copy. A GPU that
// forwards a batch may send it on in parts.
type Batch struct {
	Flow    Flow
	Packets []Packet
	Route   *mesh.Route
	Hop     int   // which hop of the route it waits for or crosses
	At      Place // where it is on the GPU before that hop
	Wire    int64

	// Left is how many bytes the source had left for this destination when the
	// batch began: the more, the more urgent is the batch wherever it competes.
	Left int64
}

// Place is where packets are on a GPU.
type Place struct {
	// Class is that of the receive buffers, or one of Source and Final.
	Class int
	// First is the slot of the first packet; the others follow.
	First int
}

const (
	// Source is the memory that holds the flow's rows, at the GPU they come from.
	Source = -1
	// Final is the memory where the rows belong, at the flow's destination.
	Final = -2
)

func newBatch(f Flow, packets []Packet, r *mesh.Route, hop int, at Place, left int64) *Batch {
	b := &Batch{Flow: f, Packets: packets, Route: r, Hop: hop, At: at, Left: left}
	for _, p := range packets {
		b.Wire += p.Wire
	}
	return b
}

// From and To return the ends of the hop.
func (b *Batch) From() int { return b.Route.GPUs[b.Hop] }

// To returns the GPU at the end of the hop.
func (b *Batch) To() int { return b.Route.GPUs[b.Hop+1] }

// last says whether the hop ends at the destination.
func (b *Batch) last() bool { return b.Hop == len(b.Route.Hops)-1 }

// split takes the first packets off the batch.
func (b *Batch) split(packets int) *Batch {
	first := newBatch(b.Flow, b.Packets[:packets], b.Route, b.Hop, b.At, b.Left)
	b.Packets, b.Wire = b.Packets[packets:], b.Wire-first.Wire
	if b.At.Class >= 0 {
		b.At.First += packets
	}
	return first
}

// Slots is a set of slots of one receive buffer, a bit for each.
type Slots uint64

// MostSlots is how many slots a class can have.
const MostSlots = 64

func slots(first, count int) Slots { return Slots((uint64(1)<<count - 1) << first) }

// run returns the longest run of slots in the set, but none longer than most.
func (s Slots) run(most int) (first, count int) {
	for at := 0; at < MostSlots && s>>at != 0; {
		at += bits.TrailingZeros64(uint64(s >> at))
		length := bits.TrailingZeros64(^uint64(s >> at))
		if length > count {
			first, count = at, length
		}
		at += length
	}
	return first, min(count, most)
}
