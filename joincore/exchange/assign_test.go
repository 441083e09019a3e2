package exchange

import (
	"errors"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"gpujoin/joincore/mesh"
	"gpujoin/testsupport/machines"
)

var inner = Limits{Width: [2]int64{8, 8}, Copy: [2]bool{true, true}, Slack: 0.1}

func histograms(gpus, parts int, rows func(side, gpu, part int) int64) Histograms {
	var h Histograms
	for side := range h {
		h[side] = make([][]int64, gpus)
		for g := range h[side] {
			h[side][g] = make([]int64, parts)
			for p := range h[side][g] {
				h[side][g][p] = rows(side, g, p)
			}
		}
	}
	return h
}

func assign(t *testing.T, h Histograms, m *mesh.Mesh, l Limits) *Assignment {
	t.Helper()
	a, err := Assign(h, m, l)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// Every pair of rows with one partition must meet exactly once; rows that may
// not be copied are on one GPU; rows that are returned are somewhere. For any
// histogram, kind of join and mesh.
func TestEveryPairMeetsOnce(t *testing.T) {
	var meshes []*mesh.Mesh
	for _, name := range machines.Names() {
		m, err := machines.Mesh(name)
		if err != nil {
			t.Fatal(err)
		}
		meshes = append(meshes, m)
	}
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 3))
		m := meshes[r.IntN(len(meshes))]
		h := histograms(m.GPUs(), 1+r.IntN(20), func(side, g, p int) int64 {
			if r.IntN(3) == 0 {
				return 0
			}
			return r.Int64N(1 << r.IntN(20))
		})
		l := Limits{Width: [2]int64{1 + r.Int64N(100), 1 + r.Int64N(100)}, Slack: r.Float64()}
		for side := range 2 {
			l.Copy[side] = r.IntN(2) == 0
		}
		l.Worth = float64(r.IntN(2) * r.IntN(10))
		a := assign(t, h, m, l)
		rows := make([]int64, m.GPUs())
		for p := range h[0][0] {
			for g := range m.GPUs() {
				for side := range h {
					to := a.To[side][p][g]
					if !l.Copy[side] && bits.OnesCount64(to) > 1 {
						t.Fatalf("seed %d: rows of side %d are on several GPUs", seed, side)
					}
					for at := range m.GPUs() {
						if to>>at&1 == 1 {
							rows[at] += h[side][g][p]
						}
					}
				}
				for other := range m.GPUs() {
					if h[0][g][p] == 0 || h[1][other][p] == 0 {
						continue
					}
					if meet := a.To[0][p][g] & a.To[1][p][other]; bits.OnesCount64(meet) != 1 {
						t.Fatalf("seed %d: partition %d of GPUs %d and %d meets on %b", seed, p, g, other, meet)
					}
				}
			}
		}
		for g := range rows {
			if rows[g] != a.Rows[g] {
				t.Fatalf("seed %d: %v rows, not %v", seed, a.Rows, rows)
			}
		}
	}
}

// Rows at random: partitions are spread evenly, as no GPU is cheaper.
func TestUniformPartitionsAreSpread(t *testing.T) {
	m := dgx1(t)
	a := assign(t, histograms(8, 256, func(side, g, p int) int64 { return 1000 }), m, inner)
	for g, rows := range a.Rows {
		if rows != 2*1000*8*256/8 {
			t.Errorf("GPU %d joins %d rows", g, rows)
		}
	}
}

// A small side is copied to where the large one is, and the large one stays.
func TestSmallSideIsBroadcast(t *testing.T) {
	m := dgx1(t)
	h := histograms(8, 16, func(side, g, p int) int64 { return []int64{10, 100_000}[side] })
	a := assign(t, h, m, inner)
	for p := range 16 {
		for g := range 8 {
			if a.To[Probe][p][g] != 1<<g || a.To[Build][p][g] != 0xff {
				t.Fatalf("partition %d of GPU %d: %b, %b", p, g, a.To[Probe][p][g], a.To[Build][p][g])
			}
		}
	}
	// Where build rows may be on one GPU only, the large side has to move.
	l := inner
	l.Copy = [2]bool{false, true}
	a = assign(t, h, m, l)
	for p := range 16 {
		for g := range 8 {
			if bits.OnesCount64(a.To[Build][p][g]) != 1 {
				t.Fatalf("build rows on %b", a.To[Build][p][g])
			}
		}
	}
}

// Rows are joined where they are, as far as no GPU gets much more than others.
func TestHolderJoinsUntilItHasEnough(t *testing.T) {
	m := dgx1(t)
	a := assign(t, histograms(8, 64, func(side, g, p int) int64 {
		if p%8 == g {
			return 1000
		}
		return 1
	}), m, inner)
	for p := range 64 {
		if a.To[Build][p][p%8]>>(p%8)&1 == 0 {
			t.Errorf("partition %d leaves its GPU", p)
		}
	}
	// Everything on one GPU: network cost alone would leave it there.
	a = assign(t, histograms(8, 64, func(side, g, p int) int64 {
		if g == 0 {
			return 1000
		}
		return 0
	}), m, inner)
	for g, rows := range a.Rows {
		if mean := int64(2 * 64 * 1000 / 8); rows > mean*11/10 {
			t.Errorf("GPU %d joins %d rows, the mean is %d", g, rows, mean)
		}
	}
}

// One value, so one partition, has most rows: several GPUs join it.
func TestHotPartitionIsSplit(t *testing.T) {
	m := dgx1(t)
	a := assign(t, histograms(8, 64, func(side, g, p int) int64 {
		if side == int(Probe) && p == 0 {
			return 1_000_000
		}
		return 100
	}), m, inner)
	if n := bits.OnesCount64(a.To[Build][0][3]); n < 4 {
		t.Errorf("%d GPUs join the hot partition", n)
	}
}

func TestRowsWithoutPartnerAreNotSent(t *testing.T) {
	m := dgx1(t)
	h := histograms(8, 4, func(side, g, p int) int64 {
		if side == int(Build) && p == 1 {
			return 0
		}
		return 50
	})
	a := assign(t, h, m, inner)
	for g := range 8 {
		if a.To[Probe][1][g] != 0 {
			t.Errorf("rows of GPU %d that match nothing go to %b", g, a.To[Probe][1][g])
		}
	}
}

func TestAssignmentsFitMemory(t *testing.T) {
	m := dgx1(t)
	h := histograms(8, 16, func(side, g, p int) int64 { return 1000 })
	l := inner
	l.Free = make([]int64, 8)
	if _, err := Assign(h, m, l); !errors.Is(err, ErrTraffic) {
		t.Errorf("rows that take no memory: %v", err)
	}
	l.Held = [2]int64{20, 20}
	if _, err := Assign(h, m, l); !errors.Is(err, ErrMemory) {
		t.Errorf("no memory: %v", err)
	}
	for g := range l.Free {
		l.Free[g] = 1 << 30
	}
	if _, err := Assign(h, m, l); err != nil {
		t.Errorf("enough memory: %v", err)
	}
	l.Free = l.Free[:7]
	if _, err := Assign(h, m, l); !errors.Is(err, ErrTraffic) {
		t.Errorf("memory of 7 GPUs: %v", err)
	}
	h[0][3] = h[0][3][:5]
	if _, err := Assign(h, m, inner); !errors.Is(err, ErrTraffic) {
		t.Errorf("histograms of different length: %v", err)
	}
}

// No GPU gets more than it has memory for, its own rows included, whatever is copied and moved:
// or there is an error.
func TestMemoryIsNotExceeded(t *testing.T) {
	m := dgx1(t)
	fit, copied := 0, 0
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 5))
		h := histograms(8, 1+r.IntN(30), func(side, g, p int) int64 { return r.Int64N(1 << r.IntN(14)) })
		l := inner
		l.Held, l.Slack = [2]int64{1 + r.Int64N(50), 1 + r.Int64N(50)}, 0.3
		need := int64(0)
		for side := range h {
			for _, list := range h[side] {
				for _, n := range list {
					need += n * l.Held[side]
				}
			}
		}
		for range 8 {
			l.Free = append(l.Free, need/16+r.Int64N(need/4+1))
		}
		a, err := Assign(h, m, l)
		if err != nil {
			if !errors.Is(err, ErrMemory) {
				t.Fatalf("seed %d: %v", seed, err)
			}
			continue
		}
		fit++
		held := make([]int64, 8)
		for side := range h {
			for p, sets := range a.To[side] {
				for g, to := range sets {
					copied += max(bits.OnesCount64(to)-1, 0)
					for ; to != 0; to &= to - 1 {
						held[bits.TrailingZeros64(to)] += h[side][g][p] * l.Held[side]
					}
				}
			}
		}
		for g := range held {
			if held[g] > l.Free[g] {
				t.Errorf("seed %d: %d bytes on GPU %d, which has %d", seed, held[g], g, l.Free[g])
			}
		}
	}
	if fit < 50 || copied == 0 {
		t.Errorf("%d assignments fit, with %d copies", fit, copied)
	}
}

// Memory that only one copy of each row leaves free is not taken by copies, which would be
// cheaper.
func TestCopiesLeaveMemory(t *testing.T) {
	m := dgx1(t)
	h := histograms(8, 16, func(side, g, p int) int64 { return []int64{10, 1000}[side] })
	l := inner
	l.Held = [2]int64{8, 8}
	for _, c := range []struct {
		rows   int64 // of a GPU
		copies bool
	}{{16 * 1010, false}, {16*1010 + 16*8*10, true}} {
		l.Free = nil
		for range 8 {
			l.Free = append(l.Free, c.rows*8)
		}
		a := assign(t, h, m, l)
		copied := 0
		for p := range 16 {
			if bits.OnesCount64(a.To[Build][p][0]) > 1 {
				copied++
			}
		}
		if c.copies != (copied == 16) || !c.copies && copied > 0 {
			t.Errorf("memory for %d rows a GPU: %d partitions are copied", c.rows, copied)
		}
	}
}

// A GPU that has less memory than others joins fewer rows.
func TestLessMemoryLessRows(t *testing.T) {
	m := dgx1(t)
	h := histograms(8, 64, func(side, g, p int) int64 { return 1000 })
	l := inner
	l.Held, l.Free = [2]int64{8, 8}, slices.Repeat([]int64{8 * 8 * 64 * 1000}, 8)
	l.Free[3] = 8 * 16000 * 2
	if a := assign(t, h, m, l); a.Rows[3] != 2*16000 {
		t.Errorf("GPU 3 joins %d rows", a.Rows[3])
	}
}

// A side is copied if that saves enough: between two GPUs whose rows are alike, a probe row of
// each saves one on the link, and a build row of each costs one there and two that are joined.
func TestCopiesAreWorthIt(t *testing.T) {
	m, err := machines.Mesh("hgx-h100")
	if err == nil {
		m, err = m.Restrict([]int{0, 1})
	}
	if err != nil {
		t.Fatal(err)
	}
	l := inner
	for _, c := range []struct {
		worth  float64
		probe  int64
		copied bool
	}{{1, 290, false}, {1, 310, true}, {8, 1690, false}, {8, 1710, true}} {
		l.Worth = c.worth
		a := assign(t, histograms(2, 1, func(side, _, _ int) int64 { return []int64{100, c.probe}[side] }), m, l)
		if got := a.To[Build][0][0] == 3; got != c.copied || a.To[Probe][0][0] == 3 {
			t.Errorf("worth %g, %d probe rows: copied %v", c.worth, c.probe, got)
		}
	}
}

func BenchmarkAssign(b *testing.B) {
	m, err := machines.Mesh("dgx1")
	if err != nil {
		b.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 1))
	h := histograms(8, 256, func(side, g, p int) int64 { return 60_000 + r.Int64N(1000) })
	for b.Loop() {
		if _, err := Assign(h, m, inner); err != nil {
			b.Fatal(err)
		}
	}
}

// Copies that cost less traffic than moving both sides are made as long as no GPU gets
// more than its share for it.
func TestCopiesStayWithinShares(t *testing.T) {
	m, err := machines.Mesh("hgx-h100")
	if err == nil {
		m, err = m.Restrict([]int{0, 1})
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		build, probe int64 // rows of a GPU and partition
		all          bool  // build sides are copied; else at most some of them
	}{{1000, 2000, false}, {1000, 1000, false}, {10, 1000, true}} {
		a := assign(t, histograms(2, 128, func(side, _, _ int) int64 { return []int64{c.build, c.probe}[side] }), m, inner)
		copied := 0
		for p := range 128 {
			if bits.OnesCount64(a.To[Build][p][0]) == 2 {
				copied++
			}
		}
		rows := 2 * (c.build + c.probe) // of a partition, by which the last one may exceed the share
		most := float64(64*rows)*(1+inner.Slack) + float64(rows)
		for g, rows := range a.Rows {
			if float64(rows) > most {
				t.Errorf("%d x %d rows: GPU %d joins %d, %.0f at most", c.build, c.probe, g, rows, most)
			}
		}
		if c.all != (copied == 128) {
			t.Errorf("%d x %d rows: %d of 128 build sides are copied", c.build, c.probe, copied)
		}
	}
}
