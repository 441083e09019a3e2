//go:build cuda

package cuda

import (
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"gpujoin/joincore"
	"gpujoin/joincore/cuda/transfer"
	"gpujoin/joincore/device"
	"gpujoin/joincore/run"
	"gpujoin/testsupport/oracle"
	"gpujoin/testsupport/suite"
)

// slabProvider is a provider that divides what it can, with slabs of any size.
func slabProvider(t *testing.T) *Provider {
	t.Helper()
	p := provider(t, 64<<20)
	if p.transferMethod(nil) != transfer.Staged {
		t.Skip("memory of any kind crosses the link from where it lies")
	}
	p.splitBytes, p.windowRows, p.leastSlab = 1, 100, 1
	p.slabs.idle = time.Hour
	return p
}

// TestScratchIsCopiedDirectly: of the first division no window is page-locked;
// from then on, whoever divides, each one that goes to the host and each piece
// that comes again is; and the bytes are counted towards the job.
func TestScratchIsCopiedDirectly(t *testing.T) {
	p := slabProvider(t)
	for round := range 6 {
		p.divideBy = []dividers{deviceAlone, coresAlone, deviceAndCores}[round%3]
		mem := &suite.Arena{}
		d, err := p.Open(mem, device.Options{})
		if err != nil {
			t.Fatal(err)
		}
		e := d.(*execution)
		in, _ := keyed(t, rand.New(rand.NewPCG(7, 8)), 8, 5000)
		if _, err := e.Import(0, in.relation); err != nil {
			t.Fatal(err)
		}
		key := &device.Key{Exact: true, Parts: []device.KeyPart{{Class: joincore.KeyInt, Bits: 64}}}
		const bits = 3
		division := e.newDivision(0, key, []int{0}, true, bits)
		if err := e.divide(t.Context(), division); err != nil {
			t.Fatal(err)
		}
		granted := int64(0)
		for i := range division.windows {
			w := &division.windows[i]
			granted += int64(len(w.grant))
			if w.slab == nil || int64(len(w.grant)) != w.slab.size() {
				t.Fatalf("round %d, window %d: %d bytes granted, a slab: %t", round, i, len(w.grant), w.slab != nil)
			}
			if held := p.registered.holds(w.bytes); held != (round > 0) {
				t.Errorf("round %d, window %d is page-locked: %t", round, i, held)
			}
			if round == 0 {
				continue
			}
			for partition := range 1 << bits {
				for m, moved := range division.moved {
					if piece := w.piece(m, moved.bytes, partition); len(piece) > 0 && p.transferMethod(piece) != transfer.Pinned {
						t.Errorf("round %d, window %d, partition %d: %s", round, i, partition, p.transferMethod(piece))
					}
				}
			}
		}
		if n := mem.InUse(); n != granted || n != p.slabs.used {
			t.Errorf("round %d: the job has %d bytes, slabs of %d", round, n, p.slabs.used)
		}
		division.free()
		d.Close()
		settle(p.slabs)
		if err := p.slabs.refusal(); err != nil {
			t.Fatalf("refused: %v", err)
		}
		if mem.InUse() != 0 || p.slabs.used != 0 || p.slabs.bytes == 0 {
			t.Errorf("round %d: the job has %d bytes, slabs of %d; %d are idle", round, mem.InUse(), p.slabs.used, p.slabs.bytes)
		}
	}
	if note := p.Note(); note != "" {
		t.Error(note)
	}
}

// TestDividedThroughSlabs: joins that are divided are right through slabs that
// are not locked yet, while those of the join before are being locked, when they
// are, and when that is refused.
func TestDividedThroughSlabs(t *testing.T) {
	p := slabProvider(t)
	for round := range 6 {
		if round == 3 {
			p.slabs.close()
			p.slabs = newSlabs(func([]byte) (func(), error) { return nil, errors.New("too much is locked") }, 1<<30)
		}
		for _, kind := range []joincore.Kind{joincore.Inner, joincore.Full, joincore.Right} {
			plan, inputs := dividedPair(kind)
			want, err := oracle.Run(plan, inputs)
			if err != nil {
				t.Fatal(err)
			}
			sink, mem := suite.NewCollector(plan, 50), &suite.Arena{}
			if err := run.Run(t.Context(), p, plan, inputs, mem, sink, run.Options{}, nil); err != nil {
				t.Fatalf("round %d, kind %d: %v", round, kind, err)
			}
			if diff := sink.Difference(want); diff != "" {
				t.Errorf("round %d, kind %d:\n%s", round, kind, diff)
			}
			if mem.InUse() != 0 {
				t.Errorf("round %d, kind %d: %d bytes not freed", round, kind, mem.InUse())
			}
		}
		settle(p.slabs)
		if refused := p.Note() != ""; refused != (round >= 3) {
			t.Errorf("round %d: note %q", round, p.Note())
		}
	}
}
