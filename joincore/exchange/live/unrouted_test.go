package live_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"gpujoin/joincore/exchange"
	"gpujoin/joincore/exchange/live"
	"gpujoin/joincore/mesh"
	"gpujoin/testsupport/memfabric"
	"gpujoin/testsupport/sim"
)

// polled is a fabric whose copies end in Poll only, as those of devices do.
type polled struct {
	*memfabric.Fabric
	mu     sync.Mutex
	copies map[int][]func() // by device; guarded by mu
	pieces int              // most of a copy; guarded by mu
	bytes  int64            // most of a copy; guarded by mu
	first  []int            // GPUs that have sent, in the order of their first copies; guarded by mu
	under  map[int]int      // copies under way by GPU; guarded by mu
	most   int              // of one GPU; guarded by mu
}

func (f *polled) Copy(h *mesh.Hop, pieces []live.Piece, done func(error)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	bytes := int64(0)
	for _, p := range pieces {
		bytes += p.Bytes
	}
	f.pieces, f.bytes = max(f.pieces, len(pieces)), max(f.bytes, bytes)
	if len(f.first) < 100 {
		f.first = append(f.first, h.From)
	}
	if f.under == nil {
		f.under, f.copies = map[int]int{}, map[int][]func(){}
	}
	f.under[h.From]++
	f.most = max(f.most, f.under[h.From])
	d := f.Device(h.From)
	f.copies[d] = append(f.copies[d], func() {
		ended := make(chan error)
		f.Fabric.Copy(h, pieces, func(err error) { ended <- err })
		err := <-ended
		f.mu.Lock()
		f.under[h.From]--
		f.mu.Unlock()
		done(err)
	})
}

// Poll ends a device's first copy.
func (f *polled) Poll(device int) bool {
	f.mu.Lock()
	list := f.copies[device]
	if len(list) == 0 {
		f.mu.Unlock()
		return false
	}
	f.copies[device] = list[1:]
	f.mu.Unlock()
	list[0]()
	return len(list) > 1
}

// partners is a mesh of GPUs behind a switch.
func partners(t *testing.T, n int) *mesh.Mesh {
	t.Helper()
	var gpus []int
	for g := range n {
		gpus = append(gpus, g)
	}
	m, err := preset(t, "hgx-h200").Restrict(gpus)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// only keeps the runs of which no GPU sends to more than one other.
func (x *traffic) only(partner func(gpu int) int) {
	runs, ends := x.runs, x.ends
	x.runs, x.ends = nil, nil
	for i, r := range runs {
		if r.To == partner(r.From) {
			x.runs, x.ends = append(x.runs, r), append(x.ends, ends[i])
			continue
		}
		x.fabric.Free(ends[i][0])
		x.fabric.Free(ends[i][1])
	}
}

// Where each GPU sends to one other at most, over one hop, all bytes arrive in copies of the
// size that is asked for; every GPU begins before one has posted a second copy.
func TestUnrouted(t *testing.T) {
	for _, c := range []struct {
		gpus    int
		partner func(int) int
	}{{2, func(g int) int { return 1 - g }}, {8, func(g int) int { return (g + 1) % 8 }}, {8, func(g int) int { return 0 }}} {
		for _, config := range []exchange.Config{
			{Packet: 64, Batch: 4, Slots: 1, Mid: 3, Window: 4, Posted: 2, Policy: exchange.Adaptive{}},
			{Packet: 1, Batch: 1, Slots: 1, Window: 1, Posted: 1, Policy: sim.Direct{}},
			{Packet: 300, Batch: 2, Slots: 1, Window: 1, Posted: 5, Policy: sim.Bandwidth{}},
		} {
			for seed := range uint64(4) {
				t.Run(fmt.Sprintf("%d/%d/%d", c.gpus, config.Packet, seed), func(t *testing.T) {
					x := newTraffic(t, memfabric.New(partners(t, c.gpus)), 1500, seed)
					x.only(c.partner)
					f := &polled{Fabric: x.fabric}
					stats, err := live.Exchange(t.Context(), f, config, x.runs)
					if err != nil {
						t.Fatal(err)
					}
					x.check(t)
					bytes, senders := int64(0), map[int]bool{}
					for _, r := range x.runs {
						bytes += r.Bytes
						senders[r.From] = true
					}
					copies, copied := x.fabric.Copied()
					if stats.Bytes != bytes || copied != bytes || stats.Copies != copies || stats.Hops != copies || stats.Batches != copies {
						t.Errorf("%d bytes, %d copied in %d copies: %+v", bytes, copied, copies, stats)
					}
					if f.bytes > config.Packet*int64(config.Batch) || f.pieces > config.Batch || f.most > config.Posted {
						t.Errorf("copies of up to %d bytes and %d pieces, %d at a time: %+v", f.bytes, f.pieces, f.most, config)
					}
					begun := map[int]bool{}
					for _, gpu := range f.first[:len(senders)] {
						begun[gpu] = true
					}
					if len(begun) != len(senders) {
						t.Errorf("%d GPUs send, the first copies are of %v", len(senders), f.first[:len(senders)])
					}
					x.free(t)
				})
			}
		}
	}
}

// Whichever copy fails, and whenever the context ends, an exchange without routes ends with
// the reason when no copy is under way.
func TestUnroutedEndsEarly(t *testing.T) {
	broken, gone := errors.New("link down"), errors.New("no longer needed")
	c := exchange.Config{Packet: 64, Batch: 1, Slots: 2, Window: 4, Posted: 3, Policy: exchange.Adaptive{}}
	for at := int64(1); at < 30; at += 3 {
		for _, want := range []error{broken, gone} {
			ctx, cancel := context.WithCancelCause(t.Context())
			x := newTraffic(t, memfabric.New(partners(t, 2)), 2000, 1)
			x.fabric.Before = func(n int64) error {
				switch {
				case n < at:
					return nil
				case want == gone:
					cancel(gone)
					return nil
				}
				return broken
			}
			fabrics := []live.Fabric{x.fabric, &polled{Fabric: x.fabric}}
			if _, err := live.Exchange(ctx, fabrics[at%2], c, x.runs); !errors.Is(err, want) {
				t.Errorf("copy %d: %v, want %v", at, err, want)
			}
			x.free(t) // panics later if a copy is under way
			cancel(nil)
		}
	}
}
