package rowid

import (
	"math/rand/v2"
	"testing"

	"gpujoin/joincore"
	"gpujoin/joincore/cuda/kernels"
	"gpujoin/joincore/device"
)

func TestRadixBits(t *testing.T) {
	const chunk = 3840
	for _, fan := range []int{128, 256} {
		for rows := int64(1); rows < 1<<33; rows = rows*3/2 + 1 {
			for wanted := range 20 {
				first, second := radixBits(rows, chunk, fan, wanted)
				if 1<<first > fan || second > maxPassBits || second > 0 && first == 0 {
					t.Fatalf("%d rows, fan %d, %d wanted: %d and %d bits", rows, fan, wanted, first, second)
				}
				if total := first + second; wanted > 0 && total != wanted && total < 15 {
					t.Errorf("%d rows, fan %d: %d bits in place of %d", rows, fan, total, wanted)
				}
				if fill := rows >> (first + second); wanted == 0 && first > 0 && first+second < 15 && (fill > chunk*4/5 || fill < chunk*2/5) {
					t.Errorf("%d rows, fan %d: partitions of %d rows", rows, fan, fill)
				}
			}
		}
	}
}

func TestRangesAreWholeGroups(t *testing.T) {
	for probe := int64(0); probe < 1<<33; probe = probe*2 + 1 {
		if r := rangeRows(probe, 264); r%32 != 0 || r < 1<<10 || r > 1<<15 {
			t.Errorf("%d probe rows: ranges of %d", probe, r)
		}
	}
}

func TestKeyWords(t *testing.T) {
	part := func(bits int) device.KeyPart { return device.KeyPart{Class: joincore.KeyInt, Bits: bits} }
	for _, c := range []struct {
		key  device.Key
		want int
	}{
		{device.Key{Exact: true}, 1},
		{device.Key{Exact: true, Parts: []device.KeyPart{part(32)}}, 1},
		{device.Key{Exact: true, Parts: []device.KeyPart{part(16), part(16)}}, 1},
		{device.Key{Exact: true, Parts: []device.KeyPart{part(32), part(8)}}, 2},
		{device.Key{Parts: []device.KeyPart{part(65)}}, 2},
	} {
		if got := keyWords(&c.key); got != c.want {
			t.Errorf("%+v: %d words", c.key, got)
		}
	}
}

func TestRegions(t *testing.T) {
	for _, c := range []struct{ wanted, free, want int64 }{
		{0, 1 << 40, defaultRegion}, {0, 1 << 20, 1 << 15}, {1 << 12, 1 << 40, 1 << 12}, {1 << 30, 1 << 30, 1 << 25}, {1, 1 << 40, smallestRegion}, {0, 0, smallestRegion},
	} {
		if got := regionRows(c.wanted, c.free); got != c.want {
			t.Errorf("%d wanted of %d bytes: %d rows", c.wanted, c.free, got)
		}
	}
}

func TestBuffersHoldAlignedPartitions(t *testing.T) {
	for _, partitions := range []int{1, 4, 256, 1 << 16} {
		for _, rows := range []int64{0, 1, 31, 1 << 20, kernels.MaxRows} {
			got := bufferRows(rows, partitions, finalAlign)
			if most := rows + int64(partitions)*(finalAlign-1); got < most || got%32 != 0 || got >= 1<<32 {
				t.Errorf("%d rows in %d partitions: room for %d", rows, partitions, got)
			}
		}
	}
}

// Items are counted as the kernels do: one a partition, and one more for each
// further chunk and range of it.
func TestWorkItemsAreBounded(t *testing.T) {
	const chunk, rows = 100, 320
	up := func(n, unit int64) int64 { return (n + unit - 1) / unit }
	for _, build := range [][]int64{{0, 0}, {100, 100}, {101, 99}, {1, 10_000}} {
		for _, probe := range [][]int64{{0, 0}, {320, 320}, {321, 1}, {5, 100_000}} {
			var items, builds, probes int64
			for p := range build {
				items += max(1, up(build[p], chunk)*up(probe[p], rows))
				builds += build[p]
				probes += probe[p]
			}
			if bound := workItems(builds, probes, len(build), chunk, rows); bound < items {
				t.Errorf("%v with %v: %d items, %d are expected at most", build, probe, items, bound)
			}
		}
	}
}

func TestFlags(t *testing.T) {
	for _, c := range []struct {
		emit device.Emit
		mark bool
		want uint64
	}{
		{device.Pairs, false, emitPairs},
		{device.Pairs, true, emitPairs | markBuild},
		{device.Outer, false, emitPairs | markProbe},
		{device.Outer, true, emitPairs | markProbe | markBuild},
		{device.Semi, false, markProbe | firstOnly},
		{device.Anti, false, markProbe | firstOnly},
		{device.Semi, true, markProbe | markBuild}, // every partner is marked
		{device.Nothing, true, markBuild},
		{device.Nothing, false, 0},
	} {
		if got := flagsOf(&device.Match{Emit: c.emit, Mark: c.mark}); got != c.want {
			t.Errorf("emit %d, mark %v: %b, want %b", c.emit, c.mark, got, c.want)
		}
	}
}

// The number of groups is known from a part of the rows, whatever fraction of them
// passes a filter.
func TestExpectedGroups(t *testing.T) {
	for _, groups := range []int{1, 1000, 1 << 20} {
		for _, passing := range []float64{1, 0.5, 0.01} {
			r := rand.New(rand.NewPCG(uint64(groups), 3))
			seen, count := make([]bool, groups), int64(0)
			var s sample
			for _, rows := range []int64{firstRows, nextRows} {
				for range rows {
					if g := r.IntN(groups); r.Float64() < passing && !seen[g] {
						seen[g] = true
						count++
					}
				}
				s.add(rows, count)
			}
			const further = 1 << 28
			want := int64(min(float64(groups), passing*further))
			if got := s.expected(further); got < want/2 || got > 2*want+1 && float64(got) > 1.3*passing*further {
				t.Errorf("%d groups of %v of the rows: %d", groups, passing, got)
			}
		}
	}
	if got := (&sample{}).expected(1000); got != 1000 {
		t.Errorf("of 1000 unknown rows %d groups are expected", got)
	}
}

// Rows are scattered if the table of groups exceeds the cache and each has several rows;
// partitions have space for all rows and groups that fit a table.
func TestScatterPlans(t *testing.T) {
	const rows, held, slotBytes, cache = 1 << 28, 5000, 32, 50 << 20
	for _, c := range []struct {
		rows, groups int64
		passed       float64
		free         int64
		want         bool
	}{
		{rows, 1 << 10, 1, 1 << 36, false}, {rows, held, 1, 1 << 36, false}, {rows, 1 << 14, 0.5, 1 << 36, false}, {rows, 1 << 20, 0.5, 1 << 36, true},
		{rows, 1 << 24, 1, 1 << 36, true}, {rows, 1 << 27, 1, 1 << 36, false}, {rows, 1 << 20, 0.5, 1 << 29, false},
		{1 << 22, 1 << 20, 1, 1 << 36, true}, {1<<22 - 1, 1 << 20, 1, 1 << 36, false}, {rows, 1 << 20, 0.001, 1 << 36, false},
	} {
		p := planScatter(c.rows, c.groups, c.passed, held, slotBytes, cache, c.free)
		if (p.partitions > 0) != c.want {
			t.Errorf("%+v: %+v", c, p)
		}
		if p.partitions > 0 && (p.partitions&(p.partitions-1) != 0 || p.groups > held || p.bytes() > c.free/2 ||
			float64(p.partitions*p.capacity) < float64(c.rows)*c.passed) {
			t.Errorf("%+v: %+v", c, p)
		}
	}
}
