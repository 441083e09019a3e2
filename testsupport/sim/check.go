package sim

import (
	"fmt"

	"gpujoin/joincore/exchange"
	"gpujoin/joincore/mesh"
)

// checker follows every packet: each is copied from where it is, to slots that
// are free, and arrives once. No GPU uses more copy engines than it has.
type checker struct {
	expected map[exchange.Flow]int
	arrived  map[packetKey]bool
	at       map[packetKey]spot
	slots    map[slotKey]packetKey
	posted   map[*mesh.Hop]int
	busy     map[int]int // hops that carry copies, by the GPU that sends
	engines  int
	err      error // the first
}

type packetKey struct {
	flow exchange.Flow
	low  int64
}

type spot struct {
	gpu   int
	class int
	slot  int
}

type slotKey struct{ gpu, neighbour, class, slot int }

func newChecker(engines int) *checker {
	return &checker{expected: map[exchange.Flow]int{}, arrived: map[packetKey]bool{}, at: map[packetKey]spot{},
		slots: map[slotKey]packetKey{}, posted: map[*mesh.Hop]int{}, busy: map[int]int{}, engines: engines}
}

func (c *checker) expect(f exchange.Flow, packets int) { c.expected[f] += packets }

func (c *checker) fail(format string, args ...any) {
	if c.err == nil {
		c.err = fmt.Errorf(format, args...)
	}
}

// send checks the source of a copy and takes the slots at its end.
func (c *checker) send(b *exchange.Batch, into exchange.Place) {
	if last := b.Hop == len(b.Route.Hops)-1; last != (into.Class == exchange.Final) {
		c.fail("batch %+v is sent to %+v", b, into)
	}
	hop := b.Route.Hops[b.Hop]
	if c.posted[hop]++; c.posted[hop] == 1 {
		c.busy[b.From()]++
	}
	if c.engines > 0 && c.busy[b.From()] > c.engines {
		c.fail("GPU %d sends over %d hops at a time", b.From(), c.busy[b.From()])
	}
	for i, p := range b.Packets {
		key := packetKey{b.Flow, p.Rows.Low}
		if at, ok := c.at[key]; ok {
			if at.gpu != b.From() || at.class != b.At.Class || at.slot != b.At.First+i {
				c.fail("packet %+v is sent from %d %+v, and is at %+v", key, b.From(), b.At, at)
			}
		} else if b.Hop != 0 || b.At.Class != exchange.Source {
			c.fail("packet %+v is sent by %d, where it is not", key, b.From())
		}
		if into.Class < 0 {
			continue
		}
		slot := slotKey{b.To(), b.From(), into.Class, into.First + i}
		if other, taken := c.slots[slot]; taken {
			c.fail("packet %+v overruns %+v in slot %+v", key, other, slot)
		}
		c.slots[slot] = key
	}
}

// complete moves the packets, and frees the slots they were in.
func (c *checker) complete(b *exchange.Batch, into exchange.Place) {
	hop := b.Route.Hops[b.Hop]
	if c.posted[hop]--; c.posted[hop] == 0 {
		c.busy[b.From()]--
	}
	for i, p := range b.Packets {
		key := packetKey{b.Flow, p.Rows.Low}
		if b.At.Class >= 0 {
			delete(c.slots, slotKey{b.From(), b.Route.GPUs[b.Hop-1], b.At.Class, b.At.First + i})
		}
		if into.Class >= 0 {
			c.at[key] = spot{b.To(), into.Class, into.First + i}
			continue
		}
		delete(c.at, key)
		if c.arrived[key] || b.To() != b.Flow.To {
			c.fail("packet %+v arrives at %d, or again", key, b.To())
		}
		c.arrived[key] = true
	}
}

func (c *checker) finish() error {
	total := 0
	for _, n := range c.expected {
		total += n
	}
	if len(c.arrived) != total || len(c.slots) != 0 {
		return fmt.Errorf("%d of %d packets arrived, %d slots are taken", len(c.arrived), total, len(c.slots))
	}
	return nil
}
