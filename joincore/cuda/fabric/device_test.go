//go:build cuda

package fabric_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"gpujoin/joincore"
	"gpujoin/joincore/cuda/driver"
	"gpujoin/joincore/cuda/fabric"
	"gpujoin/joincore/exchange"
	"gpujoin/joincore/exchange/live"
	"gpujoin/joincore/mesh"
	"gpujoin/testsupport/machines"
	"gpujoin/testsupport/sim"
)

// layout is GPUs of a mesh on devices.
type layout struct {
	preset  string
	gpus    []int
	devices []int
	staged  bool
	threads bool // execute all copies that they can
	policy  exchange.Policy
}

func (l layout) String() string {
	return fmt.Sprintf("%s on %v, staged %v, threads %v, %T", l.preset, l.devices, l.staged, l.threads, l.policy)
}

// layouts are those that this machine can have.
func layouts(t *testing.T) []layout {
	t.Helper()
	all, err := driver.Devices()
	if err != nil || len(all) == 0 {
		t.Fatalf("no device: %v", err)
	}
	eight := []int{0, 1, 2, 3, 4, 5, 6, 7}
	list := []layout{
		{preset: "hgx-h200", gpus: []int{0, 1}, devices: []int{0, 0}, policy: exchange.Adaptive{}},
		{preset: "hgx-h200", gpus: []int{0, 1}, devices: []int{0, 0}, threads: true, policy: exchange.Adaptive{}},
		{preset: "dgx1", gpus: eight, devices: make([]int, 8), policy: exchange.Adaptive{}},
	}
	if len(all) < 2 {
		t.Log("one device: copies between devices are not tested")
		return list
	}
	two := []int{0, 0, 0, 0, 1, 1, 1, 1}
	list = append(list,
		layout{preset: "hgx-h200", gpus: []int{0, 1}, devices: []int{0, 1}, policy: exchange.Adaptive{}},
		layout{preset: "hgx-h200", gpus: []int{0, 1}, devices: []int{0, 1}, threads: true, policy: exchange.Adaptive{}},
		layout{preset: "hgx-h200", gpus: []int{0, 1}, devices: []int{0, 1}, staged: true, policy: exchange.Adaptive{}},
		layout{preset: "dgx1", gpus: eight, devices: two, policy: exchange.Adaptive{}},
		layout{preset: "dgx1", gpus: eight, devices: two, threads: true, policy: exchange.Adaptive{}},
		layout{preset: "dgx1", gpus: eight, devices: two, staged: true, policy: sim.Bandwidth{}},
	)
	if n := min(len(all), len(eight)); n > 2 {
		list = append(list, layout{preset: "hgx-h200", gpus: eight[:n], devices: eight[:n], policy: exchange.Adaptive{}},
			layout{preset: "hgx-h200", gpus: eight[:n], devices: eight[:n], threads: true, policy: exchange.Adaptive{}})
	}
	return list
}

func (l layout) mesh(t *testing.T) *mesh.Mesh {
	t.Helper()
	m, err := machines.Mesh(l.preset)
	if err == nil {
		m, err = m.Restrict(l.gpus)
	}
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func (l layout) open(t *testing.T, bytes int64) *fabric.Fabric {
	t.Helper()
	o := fabric.Options{Devices: l.devices, Bytes: bytes, Staged: l.staged}
	if l.threads {
		o.ByThreads = math.MaxInt64
	}
	f, err := fabric.Open(l.mesh(t), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
	return f
}

// Every byte arrives, in packets that threads copy and in packets of sizes that divide nothing
// evenly, directly and over other GPUs, staged and not.
func TestExchange(t *testing.T) {
	for _, l := range layouts(t) {
		for _, packet := range []int64{300_001, 1 << 20} {
			t.Run(fmt.Sprintf("%v, packets of %d", l, packet), func(t *testing.T) {
				c := exchange.Default()
				c.Packet, c.Policy = packet, l.policy
				exchanged(t, l, c)
			})
		}
	}
}

// exchanged exchanges random numbers of bytes between all GPUs of a layout.
func exchanged(t *testing.T, l layout, c exchange.Config) {
	f := l.open(t, 512<<20)
	var runs []live.Run
	var checks []func()
	r := rand.New(rand.NewPCG(1, 2))
	for from := range l.devices {
		for to := range l.devices {
			if from == to {
				continue
			}
			n := 1 + r.Int64N(20<<20)/int64(len(l.devices))
			source, err := f.Alloc(from, n)
			if err != nil {
				t.Fatal(err)
			}
			target, err := f.Alloc(to, n)
			if err != nil {
				t.Fatal(err)
			}
			sent, arrived := make([]byte, n), make([]byte, n)
			for i := int64(0); i+8 <= n; i += 8 {
				binary.LittleEndian.PutUint64(sent[i:], uint64(from)<<56|uint64(to)<<48|uint64(i))
			}
			transfer(t, f, from, func(s *driver.Stream) error { return s.CopyIn(source.(*fabric.Memory).Ptr(), sent) })
			runs = append(runs, live.Run{From: from, To: to, Source: live.Place{Buffer: source}, Target: live.Place{Buffer: target}, Bytes: n})
			checks = append(checks, func() {
				transfer(t, f, to, func(s *driver.Stream) error { return s.CopyOut(arrived, target.(*fabric.Memory).Ptr()) })
				if i := differ(sent, arrived); i >= 0 {
					t.Fatalf("byte %d from %d to %d: %#x, want %#x", i, from, to, arrived[i], sent[i])
				}
				f.Free(source)
				f.Free(target)
			})
		}
	}
	stats, err := live.Exchange(t.Context(), f, c, runs)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%+v", stats)
	for _, check := range checks {
		check()
	}
}

// transfer has a GPU copy between its memory and the host's.
func transfer(t *testing.T, f *fabric.Fabric, gpu int, queue func(*driver.Stream) error) {
	t.Helper()
	s, err := f.Context(gpu).NewStream()
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(queue(s), s.Sync(context.Background()), s.Close()); err != nil {
		t.Fatal(err)
	}
}

// differ returns the first place where two slices of one length differ, or -1.
func differ(a, b []byte) int {
	if bytes.Equal(a, b) {
		return -1
	}
	for i := range a {
		if a[i] != b[i] {
			return i
		}
	}
	return -1
}

// An exchange whose receive buffers do not fit says so, and leaves nothing behind.
func TestReceiveBuffersThatDoNotFit(t *testing.T) {
	eight := []int{0, 1, 2, 3, 4, 5, 6, 7}
	l := layout{preset: "dgx1", gpus: eight, devices: make([]int, 8)}
	c := exchange.Default()
	f := l.open(t, c.BufferBytes(l.mesh(t), 0)/2)
	a, err := f.Alloc(0, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	b, err := f.Alloc(7, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Free(a)
	defer f.Free(b)
	run := live.Run{From: 0, To: 7, Source: live.Place{Buffer: a}, Target: live.Place{Buffer: b}, Bytes: 1 << 20}
	if _, err := live.Exchange(t.Context(), f, c, []live.Run{run}); !errors.Is(err, joincore.ErrBudget) {
		t.Errorf("the exchange returns %v", err)
	}
	c.Packet = 0 // buffers that fit
	if _, err := live.Exchange(t.Context(), f, c, []live.Run{run}); err != nil {
		t.Error(err)
	}
}

// A context that ends stops an exchange; afterwards the memory can be freed and used.
func TestCancel(t *testing.T) {
	l := layouts(t)[0]
	f := l.open(t, 256<<20)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var runs []live.Run
	for from := range 2 {
		a, err := f.Alloc(from, 64<<20)
		if err != nil {
			t.Fatal(err)
		}
		b, err := f.Alloc(1-from, 64<<20)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Free(a)
		defer f.Free(b)
		runs = append(runs, live.Run{From: from, To: 1 - from, Source: live.Place{Buffer: a}, Target: live.Place{Buffer: b}, Bytes: 64 << 20})
	}
	if _, err := live.Exchange(ctx, f, exchange.Default(), runs); err == nil {
		t.Error("the exchange has not ended with its context")
	}
	if _, err := live.Exchange(t.Context(), f, exchange.Default(), runs); err != nil {
		t.Error(err)
	}
}
