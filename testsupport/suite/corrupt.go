package suite

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"gpujoin/joincore"
	"gpujoin/joincore/exec"
)

// survives runs a case over untrusted inputs: it may return any result, or an
// error that blames the input.
func (s Subject) survives(t *testing.T, c joinCase, plan *joincore.Plan, inputs []*joincore.Relation) {
	t.Helper()
	mem, sink := &Arena{}, NewCollector(plan, 100)
	err := Run(t.Context(), s.Provider, plan, inputs, mem, sink, c.options(), nil)
	if err != nil && !errors.Is(err, joincore.ErrInvalid) && !errors.Is(err, joincore.ErrRowTooWide) {
		t.Fatalf("%v: %v", c, err)
	}
	mem.empty(t, c.String())
	sink.closed(t, c.String())
}

// CorruptInput: offsets that decrease, point beyond the heap or are otherwise
// invalid give some result or ErrInvalid.
func CorruptInput(t *testing.T, s Subject) {
	for _, a := range s.Algorithms {
		for seed := range uint64(40) {
			if s.leftOut(seed, 3) {
				continue
			}
			c := faultCase(a, seed)
			plan, inputs := c.plan()
			r := rand.New(rand.NewPCG(seed, 3))
			for _, rel := range inputs {
				for i := range rel.Segments {
					corrupt(r, rel, &rel.Segments[i])
				}
			}
			s.survives(t, c, plan, inputs)
		}
	}
}

// corrupt overwrites offsets of a segment, or shortens a vector.
func corrupt(r *rand.Rand, rel *joincore.Relation, s *joincore.Segment) {
	for j := range s.Columns {
		v := &s.Columns[j]
		if rel.Columns[j].Kind == joincore.Varlena {
			for range r.IntN(4) {
				x := []uint32{0, 1, ^uint32(0), uint32(len(v.Heap)), uint32(len(v.Heap) + 1), r.Uint32()}[r.IntN(6)]
				binary.LittleEndian.PutUint32(v.Values[4*r.IntN(s.Rows+1):], x)
			}
		}
		switch r.IntN(60) {
		case 0:
			v.Values = v.Values[:len(v.Values)/2]
		case 1:
			v.Heap = v.Heap[:len(v.Heap)/2]
		case 2:
			if v.Validity != nil {
				v.Validity = v.Validity[:len(v.Validity)/2]
			}
		}
	}
}

// ChangingInput: a peer that writes to the extents during a join gets a wrong result or
// ErrInvalid. The data race is intended.
func ChangingInput(t *testing.T, s Subject) {
	if Race {
		t.Skip("the test is a data race on purpose")
	}
	for _, a := range s.Algorithms {
		for seed := range uint64(20) {
			if s.leftOut(seed, 4) {
				continue
			}
			c := faultCase(a, seed)
			plan, inputs := c.plan()
			var stop atomic.Bool
			var peer sync.WaitGroup
			peer.Go(func() {
				r := rand.New(rand.NewPCG(seed, 4))
				for !stop.Load() {
					s := &inputs[r.IntN(2)].Segments[r.IntN(3)]
					v := &s.Columns[r.IntN(len(s.Columns))]
					v.Values[r.IntN(len(v.Values))] = byte(r.Uint32())
				}
			})
			for range 5 {
				s.survives(t, c, plan, inputs)
			}
			stop.Store(true)
			peer.Wait()
		}
	}
}

// RowTooWide: a value that no batch can hold gives its own error; one that
// needs an unusual division of a batch does not.
func RowTooWide(t *testing.T, s Subject) {
	wide := func(n int) *joincore.Relation {
		offsets := binary.LittleEndian.AppendUint32(make([]byte, 4), uint32(n))
		offsets = binary.LittleEndian.AppendUint32(offsets, uint32(n+4))
		return &joincore.Relation{
			Columns: []joincore.Column{varlena, varlena, fixed(8)},
			Segments: []joincore.Segment{{Rows: 2, Columns: []joincore.Vector{
				{Values: offsets, Heap: make([]byte, n+4)},
				{Values: make([]byte, 12), Heap: make([]byte, 400)},
				{Values: make([]byte, 16)},
			}}},
		}
	}
	for n, want := range map[int]error{900: nil, 5000: joincore.ErrRowTooWide} {
		name := fmt.Sprintf("%d bytes", n)
		rel := wide(n)
		plan := &joincore.Plan{
			Inputs: []joincore.Input{{Columns: rel.Columns}, {Columns: rel.Columns}},
			Root: &joincore.Join{Kind: joincore.Inner, Left: &joincore.Scan{}, Right: &joincore.Scan{Input: 1}, Keys: []joincore.KeyPair{
				{Left: joincore.ColumnRef{Column: 2}, Right: joincore.ColumnRef{Input: 1, Column: 2}, Class: joincore.KeyInt},
			}},
			Output: []joincore.ColumnRef{{Column: 0}, {Column: 1}},
		}
		sink := &Collector{capacity: 4, heap: 1000, columns: outputColumns(plan)}
		err := Run(t.Context(), s.Provider, plan, []*joincore.Relation{rel, rel}, &Arena{}, sink, exec.Options{}, nil)
		if !errors.Is(err, want) || want == nil && (err != nil || sink.n != 4) {
			t.Errorf("%s: %v, %d rows", name, err, sink.n)
		}
		sink.closed(t, name)
	}
}
