package sim

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"gpujoin/joincore/exchange"
	"gpujoin/joincore/mesh"
	"gpujoin/testsupport/machines"
)

func dgx1(t testing.TB) *mesh.Mesh {
	t.Helper()
	m, err := machines.Mesh("dgx1")
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// The paper's buffers, one for each neighbour, deadlock: packets wait in a
// circle for slots that hold each other. With a buffer for each hop class a
// packet waits only for packets that have fewer hops before them.
func TestOneRingANeighbourDeadlocksAndHopClassesDoNot(t *testing.T) {
	m := dgx1(t)
	for _, c := range []struct {
		policy exchange.Policy
		slots  int
	}{
		{exchange.Adaptive{}, 1}, {exchange.Adaptive{}, 2}, {Bandwidth{}, 2}, {Bandwidth{}, 4},
	} {
		t.Run(fmt.Sprintf("%T %d slots", c.policy, c.slots), func(t *testing.T) {
			o := Options{Mesh: m, Config: exchange.Default(), Traffic: Uniform(8, 64<<20)}
			o.Config.Policy, o.Config.Slots = c.policy, c.slots
			if _, err := Run(o); err != nil {
				t.Errorf("hop classes: %v", err)
			}
			o.Config.SharedRing = true
			if _, err := Run(o); !errors.Is(err, ErrStall) {
				t.Errorf("one ring: %v", err)
			}
		})
	}
}

// On any mesh, with a single slot a class: every packet arrives once, no slot
// is overrun, no GPU uses more copy engines than it has, nothing stalls. Run
// checks all of it.
func TestAnyMeshWithOneSlotAClass(t *testing.T) {
	for seed := range uint64(100) {
		o, err := Random(seed)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Run(o); err != nil {
			t.Fatalf("seed %d, %T, %+v: %v", seed, o.Config.Policy, o.Config, err)
		}
	}
}

// The trace of a seed is part of the contract: a change of it is a change of
// what the exchange does on real GPUs, and has to be meant.
func TestGoldenTraces(t *testing.T) {
	for seed, want := range map[uint64]uint64{1: 0x2df1f04a4294467c, 2: 0xccd49f86f99d27e4, 3: 0xbc263afc37262be1} {
		o := Options{Mesh: dgx1(t), Config: exchange.Default(), Traffic: Uniform(8, 8<<20+4711), Pass: 300,
			Note: 2 * time.Microsecond, Seed: seed, Jitter: time.Microsecond}
		for range 2 {
			got, err := Run(o)
			if err != nil {
				t.Fatal(err)
			}
			if got.Trace != want {
				t.Errorf("seed %d: trace %#x, not %#x", seed, got.Trace, want)
			}
		}
	}
}

// Copies that share a link share its bandwidth; one over another link does not
// suffer; a copy costs its bytes and Half.
func TestLinksShareFairly(t *testing.T) {
	nodes := []mesh.Node{{Kind: mesh.GPU}, {Kind: mesh.GPU}, {Kind: mesh.GPU}, {Kind: mesh.Host}}
	var links []mesh.Link
	for g := range 3 {
		links = append(links,
			mesh.Link{From: g, To: 3, Kind: mesh.PCIe, Width: 1, GBps: 10, Half: 1000},
			mesh.Link{From: 3, To: g, Kind: mesh.PCIe, Width: 1, GBps: 10})
	}
	m, err := mesh.New("", nodes, links, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	c := exchange.Default()
	for _, x := range []struct {
		traffic [][]int64
		want    time.Duration
	}{
		{[][]int64{{0, 9000, 0}, {0, 0, 0}, {0, 0, 0}}, 1000},    // alone: 10000 bytes at 10 bytes a nanosecond
		{[][]int64{{0, 9000, 9000}, {0, 0, 0}, {0, 0, 0}}, 2000}, // both share the way up
		{[][]int64{{0, 0, 9000}, {0, 0, 9000}, {0, 0, 0}}, 2000}, // both share the way down
		{[][]int64{{0, 9000, 0}, {9000, 0, 0}, {0, 0, 0}}, 1000}, // directions are independent
	} {
		r, err := Run(Options{Mesh: m, Config: c, Traffic: x.traffic})
		if err != nil || r.Time != x.want {
			t.Errorf("%v: %+v, %v", x.traffic, r, err)
		}
	}
}

// An exchange of nothing is over at once.
func TestNothing(t *testing.T) {
	r, err := Run(Options{Mesh: dgx1(t), Config: exchange.Default(), Traffic: Uniform(8, 0)})
	if err != nil || r.Time != 0 || r.Batches != 0 {
		t.Errorf("%+v, %v", r, err)
	}
}

// Adaptive routing is nowhere much slower than the best static policy, on other
// machines and with less to send too. The clock is virtual: this is exact.
func TestAdaptiveCostsNothingWhereItGainsNothing(t *testing.T) {
	for _, name := range []string{"dgx-station", "gh200", "ac922", "hgx-h200"} {
		m, err := machines.Mesh(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, flow := range []int64{100 << 10, 16 << 20, 64 << 20} {
			var adaptive, best float64
			for _, p := range Policies {
				o := Options{Mesh: m, Config: exchange.Default(), Traffic: Uniform(m.GPUs(), flow), Note: 2 * time.Microsecond}
				o.Config.Policy = p
				r, err := Run(o)
				if err != nil {
					t.Fatal(err)
				}
				if _, ok := p.(exchange.Adaptive); ok {
					adaptive = r.GBps()
				}
				best = max(best, r.GBps())
			}
			if adaptive < 0.98*best {
				t.Errorf("%s, %d bytes a flow: %.1f of %.1f GB/s", name, flow, adaptive, best)
			}
		}
	}
}

func TestStaticPolicies(t *testing.T) {
	m := dgx1(t)
	for _, c := range []struct {
		policy   exchange.Policy
		from, to int
		want     []int
	}{
		{Bandwidth{}, 0, 1, []int{0, 3, 2, 1}}, // three double links instead of one single
		{Hops{}, 0, 1, []int{0, 1}},
		{Latency{}, 0, 1, []int{0, 1}},
		{Direct{}, 0, 1, []int{0, 1}},
		{Hops{}, 0, 5, []int{0, 5}},         // staged
		{Bandwidth{}, 0, 7, []int{0, 4, 7}}, //
	} {
		routes := m.Routes(c.from, c.to, 3)
		got := routes[c.policy.Choose(nil, 16<<20, routes)].GPUs
		if !slices.Equal(got, c.want) {
			t.Errorf("%T from %d to %d: %v", c.policy, c.from, c.to, got)
		}
	}
}
