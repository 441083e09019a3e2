//go:build cuda

package outofcore_test

import (
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"gpujoin/joincore"
	"gpujoin/joincore/cuda"
	"gpujoin/joincore/cuda/links"
	"gpujoin/joincore/cuda/outofcore"
	"gpujoin/joincore/cuda/rowid"
	"gpujoin/joincore/device"
	"gpujoin/joincore/exec"
	"gpujoin/testsupport/oracle"
	"gpujoin/testsupport/suite"
)

// slabProvider is a provider that divides what it can, with slabs of any size.
func slabProvider(t *testing.T) (*cuda.Provider, *outofcore.Device) {
	t.Helper()
	p, shared := provider(t)
	d, err := p.Open(&suite.Arena{}, device.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if executionOf(d).Method(nil) != links.Staged {
		t.Skip("memory of any kind crosses the link from where it lies")
	}
	shared.Limits = outofcore.Limits{SplitBytes: 1, WindowRows: 100, SlabFrom: 1}
	shared.Slabs.KeepFor(time.Hour)
	return p, shared
}

// TestScratchIsCopiedDirectly: of the first division no window is page-locked;
// from then on, whoever divides, each one that goes to the host and each piece
// that comes again is; and the bytes are counted towards the job.
func TestScratchIsCopiedDirectly(t *testing.T) {
	p, shared := slabProvider(t)
	for round := range 6 {
		shared.By = []outofcore.Dividers{outofcore.DeviceAlone, outofcore.CoresAlone, outofcore.DeviceAndCores}[round%3]
		mem := &suite.Arena{}
		d, err := p.Open(mem, device.Options{})
		if err != nil {
			t.Fatal(err)
		}
		e := executionOf(d)
		in, _ := outofcore.Keyed(t, rand.New(rand.NewPCG(7, 8)), 8, 5000)
		all := imported(t, d, 0, in.Relation)
		key := &device.Key{Exact: true, Parts: []device.KeyPart{{Class: joincore.KeyInt, Bits: 64}}}
		const bits = 3
		division := outofcore.NewDivision(e, outofcore.Side{All: all, Key: key, Columns: []int{0}, Numbered: true}, bits)
		free, err := outofcore.Divide(t.Context(), e, division)
		if err != nil {
			t.Fatal(err)
		}
		granted := int64(0)
		for i := range division.Windows() {
			memory, grant, slab := division.Scratch(i)
			granted += grant
			if slab == 0 || grant != slab {
				t.Fatalf("round %d, window %d: %d bytes granted, a slab of %d", round, i, grant, slab)
			}
			if held := e.Method(memory) == links.Pinned; held != (round > 0) {
				t.Errorf("round %d, window %d is page-locked: %t", round, i, held)
			}
			if round == 0 {
				continue
			}
			for partition := range 1 << bits {
				for _, kind := range []rowid.PayloadKind{rowid.PayloadValues, rowid.PayloadValidity, rowid.PayloadRowIDs} {
					if piece := division.Piece(i, kind, partition); len(piece) > 0 && e.Method(piece) != links.Pinned {
						t.Errorf("round %d, window %d, partition %d: %s", round, i, partition, e.Method(piece))
					}
				}
			}
		}
		if n := mem.InUse(); n != granted || n != shared.Slabs.Used() {
			t.Errorf("round %d: the job has %d bytes, slabs of %d", round, n, shared.Slabs.Used())
		}
		free()
		d.Close()
		shared.Slabs.Settle()
		if err := shared.Slabs.Refusal(); err != nil {
			t.Fatalf("refused: %v", err)
		}
		if mem.InUse() != 0 || shared.Slabs.Used() != 0 || shared.Slabs.Idle() == 0 {
			t.Errorf("round %d: the job has %d bytes, slabs of %d; %d are idle", round, mem.InUse(), shared.Slabs.Used(), shared.Slabs.Idle())
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
	p, shared := slabProvider(t)
	for round := range 6 {
		if round == 3 {
			shared.Slabs.Close()
			shared.Slabs = outofcore.NewPool(func([]byte) (func(), error) { return nil, errors.New("too much is locked") }, 1<<30)
		}
		for _, kind := range []joincore.Kind{joincore.Inner, joincore.Full, joincore.Right} {
			plan, inputs := suite.SegmentedPair(kind)
			want, err := oracle.Run(plan, inputs)
			if err != nil {
				t.Fatal(err)
			}
			sink, mem := suite.NewCollector(plan, 50), &suite.Arena{}
			if err := suite.Run(t.Context(), p, plan, inputs, mem, sink, exec.Options{}, nil); err != nil {
				t.Fatalf("round %d, kind %d: %v", round, kind, err)
			}
			if diff := sink.Difference(want); diff != "" {
				t.Errorf("round %d, kind %d:\n%s", round, kind, diff)
			}
			if mem.InUse() != 0 {
				t.Errorf("round %d, kind %d: %d bytes not freed", round, kind, mem.InUse())
			}
		}
		shared.Slabs.Settle()
		if refused := p.Note() != ""; refused != (round >= 3) {
			t.Errorf("round %d: note %q", round, p.Note())
		}
	}
}
