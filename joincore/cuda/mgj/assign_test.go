package mgj

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"gpujoin/joincore/cuda/columnar/phj"
	"gpujoin/joincore/exchange"
	"gpujoin/joincore/mesh"
	"gpujoin/testsupport/machines"
)

// equalLinks returns GPUs that are all connected by one switch.
func equalLinks(t *testing.T, gpus int) *mesh.Mesh {
	t.Helper()
	var nodes []mesh.Node
	var links []mesh.Link
	for g := range gpus {
		nodes = append(nodes, mesh.Node{Kind: mesh.GPU, Name: fmt.Sprint("gpu", g)})
		for _, ends := range [][2]int{{g, gpus}, {gpus, g}} {
			links = append(links, mesh.Link{From: ends[0], To: ends[1], Kind: mesh.NVSwitch, Width: 18, GBps: 370, Half: 1 << 20})
		}
	}
	m, err := mesh.New("equal", append(nodes, mesh.Node{Kind: mesh.Switch, Name: "switch"}), links, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// even returns counts of the given rows in each partition.
func even(gpus, partitions int, rows int64) [][]int64 {
	h := make([][]int64, gpus)
	for g := range h {
		h[g] = slices.Repeat([]int64{rows}, partitions)
	}
	return h
}

// assigned returns the assignment of rows of 12 bytes to GPUs with equal links.
func assigned(t *testing.T, s Strategy, h exchange.Histograms, r *room) assignment {
	t.Helper()
	a, err := s.assign(h, equalLinks(t, len(h[0])), [2]int64{12, 12}, 0, r)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// plenty is memory for all rows.
func plenty(gpus int) *room {
	return &room{held: [2]int64{24, 24}, free: slices.Repeat([]int64{1 << 50}, gpus)}
}

// Wherever a probe row goes, it meets every build row of its partition once.
func TestRowsMeet(t *testing.T) {
	for _, gpus := range []int{1, 2, 3, 4, 8} {
		for _, s := range []Strategy{Exchange, Replicate, Alone} {
			h := exchange.Histograms{even(gpus, 64, 100), even(gpus, 64, 200)}
			h[exchange.Probe][0][3] = 1 << 20 // a hot key
			h[exchange.Build][gpus-1][5] = 0
			to := assigned(t, s, h, nil).to
			for p := range 64 {
				for probing := range gpus {
					for building := range gpus {
						if h[1][probing][p] == 0 || h[0][building][p] == 0 {
							continue
						}
						met := 0
						for g := range gpus {
							if to[1][p][probing]>>g&1 != 0 && to[0][p][building]>>g&1 != 0 {
								met++
							}
						}
						if met != 1 {
							t.Fatalf("%v over %d: rows of partition %d on %d and %d meet %d times", s, gpus, p, building, probing, met)
						}
					}
				}
			}
		}
	}
}

func TestExchangeIsEven(t *testing.T) {
	h := exchange.Histograms{even(2, 128, 1<<20), even(2, 128, 1<<21)}
	to := assigned(t, Exchange, h, nil).to
	for side, want := range []int64{1 << 27, 1 << 28} {
		rows := received(h[side], to[side])
		if rows[0] != want || rows[1] != want {
			t.Errorf("side %d: %v rows", side, rows)
		}
		if got := crossing(h[side], to[side]); got != want {
			t.Errorf("side %d: %d rows cross", side, got)
		}
	}
}

func TestReceived(t *testing.T) {
	flow := [][]int64{{1, 2}, {3, 4}}
	to := [][]uint64{{1, 1}, {2, 0}}
	if got := received(flow, to); !slices.Equal(got, []int64{4, 2}) {
		t.Errorf("received: %v", got)
	}
	if got := crossing(flow, to); got != 5 {
		t.Errorf("crossing: %d", got)
	}
	if a, b := receivedOf(flow[0], to, 0, 0), receivedOf(flow[1], to, 1, 1); a != 1 || b != 0 {
		t.Errorf("GPU 0 keeps %d rows, GPU 1 keeps %d", a, b)
	}
}

// Rows of every partition go somewhere, if only a later range has some.
func TestEstimated(t *testing.T) {
	if got := estimated([]int64{0, 5}, phj.Even(1)); !slices.Equal(got, []int64{0, 5}) {
		t.Errorf("one range: %v", got)
	}
	if got := estimated([]int64{0, 6}, phj.Ranges{2, 3}); !slices.Equal(got, []int64{1, 16}) {
		t.Errorf("two ranges: %v", got)
	}
	empty := estimated(make([]int64, 8), phj.Even(3))
	h := exchange.Histograms{even(2, 8, 10), {empty, empty}}
	for p, sets := range assigned(t, Exchange, h, nil).to[1] {
		if sets[0] == 0 || sets[1] == 0 {
			t.Errorf("rows of partition %d go nowhere: %b", p, sets)
		}
	}
}

// Few cold rows, fewer than partitions: each partition with build rows has a receiver for the
// probe rows of each GPU, whether it is estimated by one range or several.
func TestEvenRowsAreSent(t *testing.T) {
	const gpus, partitions = 8, 512
	for _, rows := range []int64{0, 100, partitions * 10} {
		for _, ranges := range []phj.Ranges{phj.Even(1), phj.Even(3), {1, 9}} {
			h := exchange.Histograms{even(gpus, partitions, 1), nil}
			for range gpus {
				h[1] = append(h[1], estimated(evenRows(ranges.First(rows), partitions), ranges))
			}
			to := assigned(t, Exchange, h, plenty(gpus)).to
			for p := range partitions {
				for g := range gpus {
					if to[exchange.Probe][p][g] == 0 {
						t.Fatalf("%d rows, ranges %v: those of GPU %d in partition %d are sent nowhere", rows, ranges, g, p)
					}
				}
			}
		}
	}
}

func TestSplitHot(t *testing.T) {
	for _, c := range []struct {
		rows         int64
		hot, sampled int
		want         [2]int64
	}{{1000, 0, 0, [2]int64{0, 1000}}, {1000, 0, 100, [2]int64{0, 1000}}, {1000, 75, 100, [2]int64{750, 250}}, {1001, 100, 100, [2]int64{1001, 0}}} {
		if hot, cold := splitHot(c.rows, c.hot, c.sampled); [2]int64{hot, cold} != c.want {
			t.Errorf("%d of %d sampled rows are hot: %d and %d rows, want %v", c.hot, c.sampled, hot, cold, c.want)
		}
	}
}

// zipf returns the rows of each partition, of keys whose number follows Zipf's law and that
// are scattered over the partitions.
func zipf(gpus, partitions, keys int, exponent float64) [][]int64 {
	counts := even(gpus, partitions, 0)
	for k := range keys {
		for g := range counts {
			counts[g][k*0x9E3779B1>>8%partitions] += int64(1e8 / math.Pow(float64(k+1), exponent))
		}
	}
	return counts
}

func TestSkewed(t *testing.T) {
	for _, c := range []struct {
		exponent float64
		want     bool
	}{{0, false}, {0.5, false}, {1, false}, {1.5, true}, {2, true}} {
		for _, partitions := range []int{64, 512, 4096} {
			if got := skewed(zipf(2, partitions, 1<<20, c.exponent)); got != c.want {
				t.Errorf("exponent %g, %d partitions: %v", c.exponent, partitions, got)
			}
		}
	}
	if skewed(even(2, 64, 0)) {
		t.Error("no rows are skewed")
	}
}

func TestDropUnmatched(t *testing.T) {
	to := [2][][]uint64{{{1, 1}, {2, 2}}, {{1, 1}, {2, 2}}}
	dropUnmatched(to, [][][]int64{{{0, 0}, {0, 0}}, {{0, 0}, {0, 7}}})
	if !slices.Equal(to[1][0], []uint64{0, 0}) || !slices.Equal(to[1][1], []uint64{2, 2}) {
		t.Errorf("probe rows go to %b", to[1])
	}
}

func TestOutputRows(t *testing.T) {
	if got := outputRows(1<<40, 0, []int64{1 << 31, 1 << 31}); got != 1<<39+1<<33+4096 {
		t.Errorf("%d rows", got)
	}
	if got := outputRows(5, 1, []int64{0, 0}); got != 0 {
		t.Errorf("%d rows of nothing", got)
	}
}

func TestPartOf(t *testing.T) {
	for _, c := range []struct{ all, part, whole, want int64 }{
		{10, 1, 3, 3}, {10, 3, 3, 10}, {10, 0, 3, 0}, {10, 5, 3, 10}, {10, 1, 0, 0}, {0, 1, 2, 0}, {-1, 1, 2, 0}, {10, -1, 2, 0},
		{1 << 37, 1 << 31, 1 << 32, 1 << 36}, {1 << 62, 1 << 61, 1 << 62, 1 << 61}, {math.MaxInt64, math.MaxInt64, 1, math.MaxInt64},
	} {
		if got := partOf(c.all, c.part, c.whole); got != c.want {
			t.Errorf("%d of %d of %d rows: %d, want %d", c.part, c.whole, c.all, got, c.want)
		}
	}
}

func BenchmarkAssign(b *testing.B) {
	m, err := machines.Mesh("hgx-h100")
	if err == nil {
		m, err = m.Restrict([]int{0, 1})
	}
	if err != nil {
		b.Fatal(err)
	}
	h := exchange.Histograms{even(2, 128, 1<<20), even(2, 128, 1<<21)}
	for b.Loop() {
		if _, err := Exchange.assign(h, m, [2]int64{12, 12}, 0, plenty(2)); err != nil {
			b.Fatal(err)
		}
	}
}

func TestFastMemory(t *testing.T) {
	if !fastMemory(4800, 375) || fastMemory(3350, 375) {
		t.Error("rows are copied between two H200, and stored between two H100")
	}
}

func TestCopiesPay(t *testing.T) {
	const half = leastCopied / 2
	for _, c := range []struct {
		strategy      Strategy
		gpus          int
		sent          [2]int64
		columns, fast bool
		want          bool
	}{
		{Exchange, 2, [2]int64{half, half}, true, true, true},
		{Exchange, 2, [2]int64{half, half - 1}, true, true, false},
		{Exchange, 2, [2]int64{half, half}, true, false, false},
		{Exchange, 2, [2]int64{1, 1}, false, false, true},
		{Exchange, 2, [2]int64{half, half}, false, true, true},
		{Replicate, 2, [2]int64{leastReplicated / 2, 0}, true, false, true},
		{Replicate, 2, [2]int64{leastReplicated/2 - 1, 10 * half}, false, true, false},
		{Replicate, 8, [2]int64{leastReplicated / 8, 0}, true, true, true},
		{Alone, 2, [2]int64{half, half}, false, true, false},
	} {
		if got := c.strategy.copiesPay(c.gpus, c.sent, c.columns, c.fast); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}
