package live

import (
	"cmp"
	"context"
	"runtime"
	"slices"
	"time"

	"gpujoin/joincore/exchange"
	"gpujoin/joincore/mesh"
)

// unrouted executes an exchange in which there is nothing to route: no GPU sends to more than
// one other, and each flow has one route, of one hop. Nodes would make the same copies. But
// for some hundred megabytes, the time that nodes take before the first copy, and between the
// first copies of different GPUs, is a tenth of the exchange.
//
// All of it runs on the caller's goroutine.
type unrouted struct {
	fabric  Fabric
	senders []*sender
	devices []int // of the senders' GPUs
	under   int   // copies under way
	ended   chan *posted
	err     error // of the first failure
	copies  int64 // so far
}

// sender posts the copies of one flow, in order.
type sender struct {
	hop    *mesh.Hop
	flow   *flow
	piece  int   // of the flow, whose bytes are copied next
	offset int64 // in this piece
	idle   []*posted
}

// posted is a copy under way or one that has ended, or memory for one.
type posted struct {
	sender *sender
	pieces []Piece
	err    error
	done   func(error)
}

// newUnrouted returns an exchange, or nil if it needs routing.
func newUnrouted(f Fabric, c exchange.Config, flows map[exchange.Flow]*flow) *unrouted {
	m := f.Mesh()
	if m.Multihop() {
		return nil
	}
	x := &unrouted{fabric: f, ended: make(chan *posted, c.Posted*len(flows))}
	for key, flow := range flows {
		routes := c.Policy.Usable(m.Routes(key.From, key.To, 0))
		if len(routes) != 1 || len(routes[0].Hops) != 1 {
			return nil
		}
		s := &sender{hop: routes[0].Hops[0], flow: flow}
		if slices.ContainsFunc(x.senders, func(o *sender) bool { return o.hop.From == s.hop.From }) {
			return nil
		}
		x.senders = append(x.senders, s)
		if d := f.Device(key.From); !slices.Contains(x.devices, d) {
			x.devices = append(x.devices, d)
		}
	}
	slices.SortFunc(x.senders, func(a, b *sender) int { return cmp.Compare(a.hop.From, b.hop.From) })
	for _, s := range x.senders {
		for range c.Posted {
			p := &posted{sender: s}
			p.done = func(err error) {
				p.err = err
				x.ended <- p // which has a place for each copy
			}
			s.idle = append(s.idle, p)
		}
	}
	return x
}

// exchange executes the exchange in copies of at most some bytes and pieces. It returns when no
// copy is under way.
func (x *unrouted) exchange(ctx context.Context, bytes int64, pieces int) error {
	for {
		x.post(ctx, bytes, pieces)
		if x.under == 0 {
			return x.err
		}
		x.wait()
	}
}

// post posts copies as far as each sender may have some under way: one of each sender, then
// the next one of each, so that all links begin early.
func (x *unrouted) post(ctx context.Context, bytes int64, pieces int) {
	for more := true; more && x.err == nil; {
		more = false
		for _, s := range x.senders {
			if len(s.idle) == 0 || s.piece == len(s.flow.pieces) {
				continue
			}
			if x.err = context.Cause(ctx); x.err != nil {
				return
			}
			p := s.idle[len(s.idle)-1]
			s.idle = s.idle[:len(s.idle)-1]
			p.pieces = s.next(p.pieces[:0], bytes, pieces)
			x.under++
			x.copies++
			x.fabric.Copy(s.hop, p.pieces, p.done)
			more = true
		}
	}
}

// next appends the next pieces of the flow to list.
func (s *sender) next(list []Piece, bytes int64, pieces int) []Piece {
	for bytes > 0 && len(list) < pieces && s.piece < len(s.flow.pieces) {
		p := &s.flow.pieces[s.piece]
		n := min(bytes, p.Bytes-s.offset)
		from, to := p.from(s.offset)
		list = append(list, Piece{from, to, n})
		bytes -= n
		if s.offset += n; s.offset == p.Bytes {
			s.piece, s.offset = s.piece+1, 0
		}
	}
	return list
}

// wait returns when at least one copy has ended.
func (x *unrouted) wait() {
	for {
		polling := false
		for _, d := range x.devices {
			if x.fabric.Poll(d) {
				polling = true
			}
		}
		if !polling && len(x.ended) == 0 { // the fabric ends copies by itself
			x.end(<-x.ended)
			return
		}
		if n := len(x.ended); n > 0 {
			for range n {
				x.end(<-x.ended)
			}
			return
		}
		runtime.Gosched()
	}
}

// end notes that a copy has ended.
func (x *unrouted) end(p *posted) {
	x.under--
	if x.err == nil {
		x.err = p.err
	}
	clear(p.pieces)
	p.sender.idle = append(p.sender.idle, p)
}

// done returns what a complete exchange did.
func (x *unrouted) done(start time.Time) Stats {
	s := Stats{Stats: exchange.Stats{Batches: x.copies, Hops: x.copies}, Copies: x.copies}
	for _, o := range x.senders {
		s.Bytes += o.flow.bytes
	}
	s.Time = time.Since(start)
	return s
}
