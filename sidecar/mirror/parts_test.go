package mirror

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"gpujoin/joincore"
)

// Property tests of the parts: arena, index, cuts.

func TestArenaGivesDisjointSpansAndTakesAllBack(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 1))
	memory := &heap{size: 4096}
	a := newArena(memory, &account{limit: 16 * 4096})
	type owned struct {
		span
		mark byte
	}
	var all []owned
	for step := range 20000 {
		if rnd.IntN(2) == 0 || len(all) == 0 {
			s, err := a.alloc(1 + rnd.IntN([]int{100, 1000, 4096}[rnd.IntN(3)]))
			if err != nil {
				if !errors.Is(err, ErrMemory) || memory.live != 16 {
					t.Fatalf("step %d: %v with %d extents", step, err, memory.live)
				}
				continue
			}
			for i := range s.data {
				s.data[i] = byte(step)
			}
			all = append(all, owned{s, byte(step)})
			continue
		}
		i := rnd.IntN(len(all))
		o := all[i]
		if !bytes.Equal(o.data, bytes.Repeat([]byte{o.mark}, len(o.data))) {
			t.Fatalf("step %d: somebody has written to a span", step)
		}
		a.free([]span{o.span})
		all = slices.Delete(all, i, i+1)
	}
	for _, o := range all {
		a.free([]span{o.span})
	}
	if memory.live != 0 || a.bytes() != 0 || a.spans != 0 {
		t.Errorf("%d extents, %d bytes, %d bytes of spans are left", memory.live, a.bytes(), a.spans)
	}
	if _, err := a.alloc(4097); !errors.Is(err, ErrTooLong) {
		t.Errorf("error %v", err)
	}
}

func TestIndexIsAMap(t *testing.T) {
	for _, bits := range []int{64, 12, 3} { // hashes that differ in few bits collide
		t.Run(fmt.Sprint(bits), func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(2, uint64(bits)))
			account := &account{}
			x := newIndex(account)
			hashes := map[uint32]uint64{}
			hashOf := func(row uint32) uint64 { return hashes[row] }
			var rows []uint32
			most := 60000
			if bits < 64 {
				most = 2000
			}
			for row := range uint32(4 * most) {
				if n := len(rows); n > 0 && (n >= most || rnd.IntN(3) == 0) {
					i := rnd.IntN(n)
					old := rows[i]
					found := x.find(hashes[old], func(r uint32) bool { return r == old })
					if found == nil || *found != old {
						t.Fatalf("row %d is not found", old)
					}
					if rnd.IntN(2) == 0 {
						if !x.remove(hashes[old], old) || x.remove(hashes[old], old) {
							t.Fatalf("row %d is not removed, or twice", old)
						}
						rows = slices.Delete(rows, i, i+1)
						continue
					}
					by := 1<<31 + row
					hashes[by] = hashes[old]
					if !x.replace(hashes[old], old, by) || x.replace(hashes[old], old, by) {
						t.Fatalf("row %d is not replaced, or twice", old)
					}
					rows[i] = by
					continue
				}
				hashes[row] = rnd.Uint64() & (1<<bits - 1) * 0x9E3779B97F4A7C15
				if err := x.insert(hashes[row], row, hashOf); err != nil {
					t.Fatal(err)
				}
				rows = append(rows, row)
			}
			for _, row := range rows {
				if x.find(hashes[row], func(r uint32) bool { return r == row }) == nil {
					t.Fatalf("row %d is not found", row)
				}
			}
			if bytes := account.besides.Load(); bits == 64 && float64(bytes)/float64(len(rows)) > 12 {
				t.Errorf("%d bytes for %d rows", bytes, len(rows))
			}
			x.release()
			if account.bytes() != 0 {
				t.Errorf("%d bytes are left", account.bytes())
			}
		})
	}
}

// An index of rows that all have one hash stays within its limit.
func TestIndexOfOneHash(t *testing.T) {
	x := newIndex(&account{limit: 1 << 19})
	var err error
	for row := uint32(0); err == nil && row < 1<<15; row++ {
		err = x.insert(7, row, func(uint32) uint64 { return 7 })
	}
	if !errors.Is(err, ErrMemory) {
		t.Errorf("error %v", err)
	}
}

func TestCutsAreTheLiveRows(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 3))
	for range 2000 {
		p := part{rows: 1 + rnd.IntN(300)}
		live := map[int]bool{}
		for i := range p.rows {
			live[i] = true
		}
		if rnd.IntN(2) == 0 {
			p.dead = make([]uint64, (rnd.IntN(p.rows)+63)/64)
			for i := range p.dead {
				p.dead[i] = rnd.Uint64() & rnd.Uint64()
				for bit := range 64 {
					if p.dead[i]>>bit&1 != 0 {
						delete(live, 64*i+bit)
					}
				}
			}
		}
		for range rnd.IntN(20) {
			d := death{row: uint16(rnd.IntN(320))} // some are of rows that a pin does not see
			p.deaths = append(p.deaths, d)
			delete(live, int(d.row))
		}
		cuts, rows := cutsOf(p.live(), p.rows)
		last := -1
		for _, c := range cuts {
			if c.first <= last || c.rows <= 0 {
				t.Fatalf("cuts %v", cuts)
			}
			last = c.first + c.rows
			for i := range c.rows {
				if !live[c.first+i] {
					t.Fatalf("row %d is in %v", c.first+i, cuts)
				}
				rows--
				delete(live, c.first+i)
			}
		}
		if rows != 0 || len(live) != 0 {
			t.Fatalf("%d rows more, %d left out", rows, len(live))
		}
	}
}

// What is gathered is what the cuts have, whatever is before it.
func TestGather(t *testing.T) {
	rnd := rand.New(rand.NewPCG(4, 4))
	columns := []joincore.Column{{Kind: joincore.Fixed, Width: 8, Align: 8}, {Kind: joincore.Varlena, Align: 4}, {Kind: joincore.Fixed, Width: 4, Align: 4}}
	for range 300 {
		n, vectors := batchOf(recordsOf(0, int64(1+rnd.IntN(200)), rnd.Int64N(50))...)
		all, err := readRows(joincore.Relation{Columns: columns, Segments: []joincore.Segment{{Rows: n, Columns: vectors}}}, allColumns)
		if err != nil {
			t.Fatal(err)
		}
		slices.Sort(all)
		var parts [2][]cut
		rows := 0
		for at := 0; at < n; {
			c := cut{at, 1 + rnd.IntN(n-at)}
			which := rnd.IntN(2)
			parts[which] = append(parts[which], c)
			at += c.rows
			rows += c.rows
		}
		out := make([]joincore.Vector, 3)
		for i, c := range columns {
			l := &lane{values: vectors[i].Values, heap: vectors[i].Heap}
			out[i].Values = make([]byte, (n+1)*max(c.Width, 4))
			out[i].Heap = make([]byte, len(l.heap))
			if vectors[i].Validity != nil || rnd.IntN(2) == 0 {
				out[i].Validity = make([]byte, (n+7)/8)
			}
			row, heap := 0, 0
			for _, cuts := range parts {
				g := gather{column: c, from: l, bits: vectors[i].Validity, cuts: cuts}
				for _, c := range cuts {
					g.rows += c.rows
				}
				before := heap
				heap = g.copy(&out[i], row, heap)
				if heap-before != g.heapBytes() {
					t.Fatalf("%d bytes of heap, %d expected", heap-before, g.heapBytes())
				}
				row += g.rows
			}
		}
		got, err := readRows(joincore.Relation{Columns: columns, Segments: []joincore.Segment{{Rows: rows, Columns: out}}}, allColumns)
		if err != nil || !slices.Equal(got, all) {
			t.Fatalf("%v, %v, want %v", got, err, all)
		}
	}
}
