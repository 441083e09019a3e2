package live_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"go.uber.org/goleak"

	"gpujoin/joincore/exchange"
	"gpujoin/joincore/exchange/live"
	"gpujoin/joincore/mesh"
	"gpujoin/testsupport/machines"
	"gpujoin/testsupport/memfabric"
	"gpujoin/testsupport/sim"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func preset(t *testing.T, name string) *mesh.Mesh {
	t.Helper()
	m, err := machines.Mesh(name)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// traffic is runs of random bytes, up to most from each GPU to each other one, and the
// buffers that have them.
type traffic struct {
	fabric *memfabric.Fabric
	runs   []live.Run
	ends   [][2]*memfabric.Memory // of each run
}

func newTraffic(t *testing.T, f *memfabric.Fabric, most int64, seed uint64) *traffic {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 3))
	x := &traffic{fabric: f}
	alloc := func(gpu int, bytes int64) *memfabric.Memory {
		b, err := f.Alloc(gpu, bytes)
		if err != nil {
			t.Fatal(err)
		}
		return b.(*memfabric.Memory)
	}
	for from := range f.Mesh().GPUs() {
		for to := range f.Mesh().GPUs() {
			for range r.IntN(3) {
				n := r.Int64N(most)
				if from == to || n == 0 {
					continue
				}
				source, target := alloc(from, n+16), alloc(to, n+16)
				for i := range source.Bytes() {
					source.Bytes()[i] = byte(r.Uint32())
				}
				run := live.Run{From: from, To: to, Source: live.Place{Buffer: source, Offset: 8}, Target: live.Place{Buffer: target, Offset: 16}, Bytes: n}
				x.runs, x.ends = append(x.runs, run), append(x.ends, [2]*memfabric.Memory{source, target})
			}
		}
	}
	return x
}

// check compares what has arrived, and that nothing else was written.
func (x *traffic) check(t *testing.T) {
	t.Helper()
	for i, r := range x.runs {
		source, target := x.ends[i][0].Bytes(), x.ends[i][1].Bytes()
		if string(source[8:8+r.Bytes]) != string(target[16:16+r.Bytes]) {
			t.Fatalf("run %d from %d to %d: other bytes have arrived", i, r.From, r.To)
		}
		if binary.LittleEndian.Uint64(target[8:]) != 0xA5A5A5A5A5A5A5A5 {
			t.Fatalf("run %d from %d to %d: the bytes before it were overwritten", i, r.From, r.To)
		}
	}
}

// free frees the traffic's buffers; no other may be left.
func (x *traffic) free(t *testing.T) {
	t.Helper()
	for _, e := range x.ends {
		x.fabric.Free(e[0])
		x.fabric.Free(e[1])
	}
	if n := x.fabric.Buffers(); n != 0 {
		t.Errorf("%d buffers are left", n)
	}
}

// Bytes arrive where they belong over every preset, by every policy, also with one slot
// in each receive buffer. The race detector sees accesses to memory that is not there yet,
// or no longer.
func TestExchange(t *testing.T) {
	for _, name := range machines.Names() {
		for _, policy := range sim.Policies {
			for _, slots := range []int{1, 4} {
				t.Run(fmt.Sprintf("%s/%T/%d", name, policy, slots), func(t *testing.T) {
					x := newTraffic(t, memfabric.New(preset(t, name)), 1500, uint64(slots))
					c := exchange.Config{Packet: 64, Batch: 4, Slots: slots, Mid: 3, Window: 4, Posted: 2, Policy: policy}
					stats, err := live.Exchange(t.Context(), x.fabric, c, x.runs)
					if err != nil {
						t.Fatal(err)
					}
					x.check(t)
					bytes := int64(0)
					for _, r := range x.runs {
						bytes += r.Bytes
					}
					if _, copied := x.fabric.Copied(); stats.Bytes != bytes || copied != bytes+stats.Forwarded {
						t.Errorf("%d bytes, %d copied: %+v", bytes, copied, stats)
					}
					x.free(t)
				})
			}
		}
	}
}

// Runs that continue each other travel as one.
func TestRunsAreJoined(t *testing.T) {
	f := memfabric.New(preset(t, "hgx-h200"))
	source, err := f.Alloc(0, 1000)
	if err != nil {
		t.Fatal(err)
	}
	target, err := f.Alloc(1, 1000)
	if err != nil {
		t.Fatal(err)
	}
	var runs []live.Run
	for i := range int64(100) {
		runs = append(runs, live.Run{To: 1, Source: live.Place{Buffer: source, Offset: 10 * i}, Target: live.Place{Buffer: target, Offset: 10 * i}, Bytes: 10})
	}
	c := exchange.Default()
	if _, err := live.Exchange(t.Context(), f, c, runs); err != nil {
		t.Fatal(err)
	}
	if copies, bytes := f.Copied(); copies != 1 || bytes != 1000 {
		t.Errorf("%d copies of %d bytes", copies, bytes)
	}
}

// Whichever copy fails, the exchange ends with its error when no copy is under way.
func TestFailingCopies(t *testing.T) {
	broken := errors.New("link down")
	c := exchange.Config{Packet: 64, Batch: 4, Slots: 2, Mid: 3, Window: 4, Posted: 2, Policy: exchange.Adaptive{}}
	for at := int64(1); at < 60; at += 7 {
		x := newTraffic(t, memfabric.New(preset(t, "dgx1")), 1000, 1)
		x.fabric.Before = func(n int64) error {
			if n >= at {
				return broken
			}
			return nil
		}
		if _, err := live.Exchange(t.Context(), x.fabric, c, x.runs); !errors.Is(err, broken) {
			t.Errorf("copy %d: %v", at, err)
		}
		x.free(t) // panics later if a copy is under way
	}
}

// A context that ends stops the exchange.
func TestCancel(t *testing.T) {
	cause := errors.New("no longer needed")
	ctx, cancel := context.WithCancelCause(t.Context())
	x := newTraffic(t, memfabric.New(preset(t, "dgx1")), 1000, 1)
	x.fabric.Before = func(n int64) error {
		if n == 5 {
			cancel(cause)
		}
		time.Sleep(time.Millisecond)
		return nil
	}
	c := exchange.Config{Packet: 64, Batch: 4, Slots: 2, Mid: 3, Window: 4, Posted: 2, Policy: exchange.Adaptive{}}
	if _, err := live.Exchange(ctx, x.fabric, c, x.runs); !errors.Is(err, cause) {
		t.Errorf("%v", err)
	}
	x.free(t)
}

func TestInvalidExchanges(t *testing.T) {
	f := memfabric.New(preset(t, "hgx-h200"))
	shared := exchange.Default()
	shared.SharedRing = true
	if _, err := live.Exchange(t.Context(), f, shared, nil); !errors.Is(err, exchange.ErrConfig) {
		t.Errorf("shared ring: %v", err)
	}
	for _, r := range []live.Run{{From: 1, To: 1, Bytes: 1}, {To: 8, Bytes: 1}, {From: -1, Bytes: 1}, {To: 1, Bytes: -1}} {
		if _, err := live.Exchange(t.Context(), f, exchange.Default(), []live.Run{r}); !errors.Is(err, exchange.ErrTraffic) {
			t.Errorf("%+v: %v", r, err)
		}
	}
	if s, err := live.Exchange(t.Context(), f, exchange.Default(), nil); err != nil || s.Bytes != 0 {
		t.Errorf("nothing: %+v, %v", s, err)
	}
}
