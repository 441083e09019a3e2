package mgj

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"gpujoin/joincore/cuda/columnar/phj"
	"gpujoin/joincore/exchange"
)

// path is a join on simulated GPUs, by the assignment and the places that real ones use.
type path struct {
	gpus, partitions int
	rows             [2][][]pathRow // by side and GPU
	ranges           [2]phj.Ranges
	blocks           bool // rows are left in blocks for others
}

// pathRow is a row: its key, and a number that no other row of its side has.
type pathRow struct{ key, number uint32 }

func (x *path) partition(r pathRow) int { return int(r.key*0x9e3779b1>>16) % x.partitions }

// counts returns the rows of a side by flow, GPU and partition.
func (x *path) counts(side int) (list [][][]int64) {
	for range x.ranges[side].Count() {
		list = append(list, even(x.gpus, x.partitions, 0))
	}
	for g, rows := range x.rows[side] {
		x.each(side, rows, func(flow int, r pathRow) { list[flow][g][x.partition(r)]++ })
	}
	return list
}

// each calls f for the rows of a GPU by flow.
func (x *path) each(side int, rows []pathRow, f func(flow int, r pathRow)) {
	from := int64(0)
	for flow, end := range x.ranges[side].Ends(int64(len(rows))) {
		for _, r := range rows[from:end] {
			f(flow, r)
		}
		from = end
	}
}

// assign assigns rows by the first range of each side.
func (x *path) assign(t *testing.T, r *room) assignment {
	var h exchange.Histograms
	for side := range h {
		for _, first := range x.counts(side)[0] {
			h[side] = append(h[side], estimated(first, x.ranges[side]))
		}
	}
	return assigned(t, Exchange, h, r)
}

// send returns what each GPU finds of a side, and how many rows were sent to other ones.
func (x *path) send(t *testing.T, side int, to [][]uint64) (got [][]pathRow, sent int64) {
	t.Helper()
	const unit = 8
	got = make([][]pathRow, x.gpus)
	next := make([]int64, x.gpus)
	for flow, counts := range x.counts(side) {
		sendings, arrivals, blocks := []phj.Sending(nil), [][]phj.Arrival(nil), [][]phj.Block(nil)
		if x.blocks {
			sendings, arrivals, blocks = phj.PlaceBlocks(counts, to, unit, next)
		} else {
			var whole []phj.Arrival
			sendings, whole = phj.Place(counts, to, unit, next)
			for _, a := range whole {
				arrivals = append(arrivals, []phj.Arrival{a})
			}
		}
		buffers := make([]map[uint32]pathRow, x.gpus)
		for g := range buffers {
			buffers[g] = map[uint32]pathRow{}
		}
		for g, rows := range x.rows[side] {
			s, number := &sendings[g], make([]uint32, x.partitions)
			x.each(side, rows, func(of int, r pathRow) {
				if of != flow {
					return
				}
				p := x.partition(r)
				n := number[p]
				number[p]++
				for receiver := range x.gpus {
					if s.To[p]>>receiver&1 == 0 {
						continue
					}
					at, buffer := n+s.Front[receiver][p], receiver
					if n >= s.Full[p] {
						at = n + s.Rest[receiver][p]
					}
					if x.blocks {
						buffer = g
					}
					if _, taken := buffers[buffer][at]; taken {
						t.Fatalf("row %d of GPU %d is stored twice", at, buffer)
					}
					buffers[buffer][at] = r
					if receiver != g {
						sent++
					}
				}
			})
		}
		for g := range blocks { // copied when all rows are where the first passes leave them
			for receiver, b := range blocks[g] {
				for row := range b.Rows {
					if r, ok := buffers[g][uint32(b.From+row)]; ok {
						buffers[receiver][uint32(b.At+row)] = r
					}
				}
			}
		}
		for g, list := range arrivals {
			for _, a := range list {
				for p, rows := range a.Rows {
					for row := range rows {
						r, ok := buffers[g][a.Start[p]+row]
						if !ok || x.partition(r) != p {
							t.Fatalf("GPU %d finds no row of partition %d at %d", g, p, a.Start[p]+row)
						}
						got[g] = append(got[g], r)
					}
				}
			}
		}
	}
	return got, sent
}

// join counts the pairs of rows in parts of both sides.
func joinParts(build, probe [][]pathRow) map[[2]uint32]int {
	pairs := map[[2]uint32]int{}
	for g := range build {
		of := map[uint32][]uint32{}
		for _, r := range build[g] {
			of[r.key] = append(of[r.key], r.number)
		}
		for _, r := range probe[g] {
			for _, number := range of[r.key] {
				pairs[[2]uint32{number, r.number}]++
			}
		}
	}
	return pairs
}

// randomPath returns a join in which half of the partitions have few rows of a side. GPUs have
// different parts of the rows.
func randomPath(r *rand.Rand, gpus, small int) *path {
	x := &path{gpus: gpus, partitions: 64, blocks: r.IntN(2) == 0}
	for side := range x.rows {
		x.rows[side], x.ranges[side] = make([][]pathRow, gpus), phj.Even(1+r.IntN(3))
		for number := range uint32(12_000) {
			row := pathRow{r.Uint32N(4000), number}
			if side == small && x.partition(row)%2 == 0 && r.IntN(100) > 0 {
				continue
			}
			g := r.IntN(gpus)
			if r.IntN(3) == 0 {
				g = 0
			}
			x.rows[side][g] = append(x.rows[side][g], row)
		}
	}
	return x
}

// Rows that are copied to several GPUs are joined with all of their partners, once, whether they
// are stored or left in blocks, and whichever side is small.
func TestEveryPairIsJoinedOnce(t *testing.T) {
	copies := 0
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 1))
		x := randomPath(r, []int{1, 2, 3, 8}[seed%4], int(seed/4)%2)
		a := x.assign(t, plenty(x.gpus))
		dropUnmatched(a.to, x.counts(0))
		copies += a.copied
		var got [2][][]pathRow
		for side := range got {
			got[side], _ = x.send(t, side, a.to[side])
		}
		want := joinParts([][]pathRow{slices.Concat(x.rows[0]...)}, [][]pathRow{slices.Concat(x.rows[1]...)})
		if pairs := joinParts(got[0], got[1]); !maps.Equal(pairs, want) || len(want) == 0 {
			t.Errorf("seed %d: %d GPUs return %d pairs of %d", seed, x.gpus, len(pairs), len(want))
		}
	}
	if copies < 100 {
		t.Errorf("%d partitions were copied", copies)
	}
}

// If counts are exact, as many rows are sent as the assignment says, and it says what
// exchange.Assign does. Copies save what they promise.
func TestSentAsAssigned(t *testing.T) {
	for _, gpus := range []int{2, 4} {
		t.Run(fmt.Sprint(gpus), func(t *testing.T) {
			x := randomPath(rand.New(rand.NewPCG(9, uint64(gpus))), gpus, 0)
			x.ranges = [2]phj.Ranges{phj.Even(1), phj.Even(1)}
			bytes := func(r *room) int64 {
				a, h := x.assign(t, r), exchange.Histograms{x.counts(0)[0], x.counts(1)[0]}
				sent := int64(0)
				for side := range h {
					_, n := x.send(t, side, a.to[side])
					sent += 12 * n
				}
				each, err := assignEach(h, make([]bool, x.partitions), equalLinks(t, gpus), [2]int64{12, 12}, r)
				if err != nil {
					t.Fatal(err)
				}
				traffic := int64(0)
				for _, n := range slices.Concat(each.Traffic...) {
					traffic += n
				}
				if sent != a.bytes || sent != traffic {
					t.Errorf("%d bytes are sent, %d assigned, %d by exchange.Assign", sent, a.bytes, traffic)
				}
				return sent
			}
			if with, without := bytes(plenty(gpus)), bytes(nil); float64(with) > 0.85*float64(without) {
				t.Errorf("%d bytes are sent with copies and %d without", with, without)
			}
		})
	}
}
