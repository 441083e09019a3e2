package mgj

import (
	"reflect"
	"slices"
	"testing"

	"gpujoin/joincore/exchange"
)

// colocated returns the rows of GPUs that all have the same probe rows of each partition. Half of
// the partitions have as few build rows as given.
func colocated(gpus, partitions int, few int64) exchange.Histograms {
	h := exchange.Histograms{even(gpus, partitions, 1<<19), even(gpus, partitions, 1<<20)}
	for _, counts := range h[exchange.Build] {
		for p := 0; p < partitions; p += 2 {
			counts[p] = few
		}
	}
	return h
}

// Build rows of the partitions that have few of them are copied, so that probe rows stay: the bytes
// that are sent fall by what the probe rows have, and no GPU joins more than its share.
func TestSmallSidesAreCopied(t *testing.T) {
	const partitions, few = int64(64), int64(100)
	for _, gpus := range []int64{2, 4, 8} {
		h := colocated(int(gpus), int(partitions), few)
		with, without := assigned(t, Exchange, h, plenty(int(gpus))), assigned(t, Exchange, h, nil)
		if with.copied != int(partitions/2) || without.copied != 0 {
			t.Errorf("%d GPUs: %d partitions of %d are copied, without copies %d", gpus, with.copied, partitions, without.copied)
		}
		moved := 12 * partitions / 2 * (gpus - 1)
		if saved, want := without.bytes-with.bytes, moved*(1<<20+few)-moved*gpus*few; saved != want {
			t.Errorf("%d GPUs: copies save %d bytes, want %d", gpus, saved, want)
		}
		rows := int64(0)
		for side := range h {
			_, n := sums(h[side])
			rows += n
		}
		share := int64(float64(rows/gpus)*(1+slack)) + 1
		for g, n := range received(h[exchange.Probe], with.to[exchange.Probe]) {
			if n += received(h[exchange.Build], with.to[exchange.Build])[g]; n > share {
				t.Errorf("%d GPUs: GPU %d joins %d rows, its share is %d", gpus, g, n, share)
			}
		}
	}
}

// If one GPU has most rows, those of partitions with a small side stay all the same: others even out
// what GPUs have to join.
func TestSmallSidesOfUnevenRowsAreCopied(t *testing.T) {
	h := colocated(2, 64, 100)
	for side := range h {
		for p := range h[side][0] {
			h[side][0][p] *= 2
		}
	}
	a := assigned(t, Exchange, h, plenty(2))
	rows := received(h[1], a.to[1])
	for g, n := range received(h[0], a.to[0]) {
		rows[g] += n
	}
	if a.copied != 32 || max(rows[0], rows[1]) > int64(float64(rows[0]+rows[1])/2*1.03) {
		t.Errorf("%d partitions are copied, GPUs join %d rows", a.copied, rows)
	}
}

// A small probe side is copied as well, to where the build rows are.
func TestSmallProbeSidesAreCopied(t *testing.T) {
	h := colocated(2, 64, 100)
	slices.Reverse(h[:])
	a := assigned(t, Exchange, h, plenty(2))
	if a.copied != 32 || a.to[exchange.Probe][0][1] != 3 || a.to[exchange.Build][0][1] != 2 {
		t.Errorf("%d partitions are copied; probe rows go to %b, build rows to %b", a.copied, a.to[1][0], a.to[0][0])
	}
}

// What is copied anyhow, a hot partition's build side, is not counted as a small side.
func TestHotPartitionsAreNoSmallSides(t *testing.T) {
	h := exchange.Histograms{even(2, 64, 1000), even(2, 64, 1000)}
	h[exchange.Probe][0][3] = 1 << 20
	if a := assigned(t, Exchange, h, plenty(2)); a.copied != 0 || a.to[exchange.Build][3][0] != 3 {
		t.Errorf("%d partitions are copied, build rows of the hot one go to %b", a.copied, a.to[0][3])
	}
}

// Sides of similar size move as without copies.
func TestSimilarSidesAreNotCopied(t *testing.T) {
	for _, gpus := range []int{1, 2, 3, 8} {
		for _, probe := range []int64{1000, 2000, 16_000} {
			h := exchange.Histograms{even(gpus, 64, 1000), even(gpus, 64, probe)}
			if a, b := assigned(t, Exchange, h, plenty(gpus)), assigned(t, Exchange, h, nil); !reflect.DeepEqual(a, b) {
				t.Errorf("%d GPUs, %d probe rows: %d partitions are copied", gpus, probe, a.copied)
			}
		}
	}
}

// Copies keep to the memory of the GPUs. Without memory for one copy of all rows, nothing is copied,
// and rows are assigned as if there were no bound.
func TestCopiesKeepToMemory(t *testing.T) {
	const gpus, partitions = 2, 64
	h := colocated(gpus, partitions, 100)
	all := int64(0)
	for side := range h {
		_, n := sums(h[side])
		all += n
	}
	r := plenty(gpus)
	for _, c := range []struct {
		rows   int64 // that a GPU has memory for
		copied int
	}{{all/2 + partitions/2*100, partitions / 2}, {all / 2, 0}, {all / 4, 0}} {
		for g := range r.free {
			r.free[g] = c.rows * 24
		}
		a := assigned(t, Exchange, h, r)
		if a.copied != c.copied {
			t.Errorf("memory for %d of %d rows: %d partitions are copied, want %d", c.rows, all, a.copied, c.copied)
		}
		if c.rows >= all/2 {
			for g := range gpus {
				if n := received(h[0], a.to[0])[g] + received(h[1], a.to[1])[g]; n > c.rows {
					t.Errorf("GPU %d joins %d rows and has memory for %d", g, n, c.rows)
				}
			}
		} else if b := assigned(t, Exchange, h, nil); !reflect.DeepEqual(a, b) {
			t.Error("rows that exceed the memory are not assigned as without a bound")
		}
	}
}

// The memory of hot partitions is not that of others: their build rows are on all GPUs.
func TestRoomWithoutHotPartitions(t *testing.T) {
	h := exchange.Histograms{{{5, 1}, {7, 1}}, {{100, 1}, {10, 1}}}
	r := &room{held: [2]int64{2, 3}, free: []int64{1000, 1000}}
	if got := r.without(h, []bool{true, false}); !slices.Equal(got, []int64{1000 - 24 - 300, 1000 - 24 - 30}) {
		t.Errorf("%d bytes are left", got)
	}
}

// An assignment by which rows would be returned twice, or not at all, is refused.
func TestRowsThatMeetTwice(t *testing.T) {
	for name, c := range map[string]struct {
		build, probe []uint64
		right        bool
	}{
		"one GPU":                      {[]uint64{1, 1}, []uint64{1, 1}, true},
		"build rows copied":            {[]uint64{3, 3}, []uint64{1, 2}, true},
		"probe rows copied":            {[]uint64{2, 1}, []uint64{3, 3}, true},
		"no rows":                      {[]uint64{0, 3}, []uint64{1, 0}, true},
		"both copied":                  {[]uint64{3, 3}, []uint64{3, 1}, false},
		"probe rows where no build is": {[]uint64{1, 1}, []uint64{1, 2}, false},
	} {
		err := meetOnce([2][][]uint64{{c.build}, {c.probe}})
		if c.right != (err == nil) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A GPU's part of the result follows from its probe rows or, where these are copied, from its build
// rows.
func TestShares(t *testing.T) {
	to := [2][][]uint64{{{1, 2}, {3, 3}}, {{3, 3}, {1, 2}}}
	build := [][][]int64{{{10, 1}, {20, 1}}, {{10, 0}, {20, 0}}}
	probe := [][][]int64{{{30, 5}, {60, 7}}}
	if got := shares(build, probe, to); !slices.Equal(got, []int64{90/3 + 5, 60 + 7}) {
		t.Errorf("%d rows", got)
	}
}
