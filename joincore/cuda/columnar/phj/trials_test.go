//go:build cuda

package phj

import (
	"testing"

	suite "gpujoin/testsupport/columnartest"
)

// run checks trials; a short test checks one in `thin`. thin is coprime to the cycle
// lengths of options in the lists below.
func (b *bed) run(t *testing.T, trials []trial, thin int) {
	if testing.Short() {
		few := trials[:0]
		for i := 0; i < len(trials); i += thin {
			few = append(few, trials[i])
		}
		trials = few
	}
	for i, random := range suite.Trials(t, len(trials)) {
		if err := b.check(trials[i], random); err != nil {
			t.Errorf("trial %d, %v: %v", i, trials[i], err)
		}
	}
}

func TestJoin(t *testing.T) {
	b := newBed(t)
	t.Run("payloads", func(t *testing.T) { b.run(t, payloads(), 5) })
	t.Run("anywhere", func(t *testing.T) { b.run(t, anywhere(), 1) })
	t.Run("sizes", func(t *testing.T) { b.run(t, sizes(), 2) })
	t.Run("duplicates", func(t *testing.T) { b.run(t, duplicates(), 5) })
	t.Run("room", func(t *testing.T) { b.run(t, rooms(), 1) })
	t.Run("hot", func(t *testing.T) { b.run(t, hotKeyed(), 5) })
	t.Run("bloom", func(t *testing.T) { b.run(t, filtered(), 5) })
}

var options = []Options{{Materialise: "om"}, {Materialise: "um"}, {Materialise: "place"}, {Materialise: "om", Bits: 10}, {Materialise: "um", Bits: 10}, {Materialise: "place", Bits: 10}, {Materialise: "um", Few: true}}

// Every payload kind, in one pass and in two.
func payloads() (list []trial) {
	rows := [2]int{4000, 6000}
	if testing.Short() {
		rows = [2]int{900, 1300}
	}
	widths := [][]int{nil, {4}, {4, 4}, {4, 4, 4}, {4, 4, 4, 4}, {8}, {8, 8}, {8, 8, 8, 8}, {1}, {8, 1}, {2, 1, 16}, {16, 16, 4}, {8, 8, 8}, {4, 4, 4, 4, 4}}
	for _, key := range []int{4, 8} {
		for i, build := range widths {
			for k, probe := range widths {
				for n, o := range options {
					// All pairs that have kernels of their own, a third of the others.
					if max(i, k) >= 8 && (i+k+n)%3 != 0 {
						continue
					}
					list = append(list, trial{rows: rows, keys: rows[0] * 7 / 8, key: key, widths: [2][]int{build, probe}, options: o})
				}
			}
		}
		for _, o := range options {
			list = append(list, trial{rows: rows, keys: rows[0] * 7 / 8, key: key, widths: [2][]int{{4}, {8}}, options: o, rowIDs: true})
			list = append(list, trial{rows: rows, keys: rows[0] * 7 / 8, key: key, widths: [2][]int{{4, 4}, {4}}, options: o, noKey: true})
		}
	}
	return list
}

// Payload of columns that begin anywhere.
func anywhere() (list []trial) {
	for _, key := range []int{4, 8} {
		for _, widths := range [][2][]int{{{4}, {4}}, {{1}, {1}}, {{8, 1}, {2, 1}}, {{2, 1, 16}, {8, 1}}, {{8, 1}, nil}, {{1, 1, 1}, {8, 8}}, {repeated(13, 1), {8, 8, 8}}} {
			for _, o := range []Options{{Materialise: "om"}, {Materialise: "om", Bits: 10}, {Materialise: "um", Bits: 10}} {
				list = append(list, trial{rows: [2]int{900, 1300}, keys: 800, key: key, widths: widths, options: o, anywhere: true})
			}
		}
	}
	return list
}

// Sizes around warps and tiles.
func sizes() (list []trial) {
	two := [2][]int{{4, 4}, {4, 4}}
	for _, r := range []int{0, 1, 31, 32, 33, 511, 512, 8191, 8192, 8193} {
		for _, s := range []int{0, 1, 31, 32, 33, 8191, 8192, 8193} {
			for _, o := range []Options{{Materialise: "om"}, {Materialise: "um", Bits: 9}, {Materialise: "place", Bits: 9}} {
				list = append(list, trial{rows: [2]int{r, s}, keys: r + s + 1, key: 4, widths: two, options: o})
			}
		}
	}
	if testing.Short() {
		return list
	}
	return append(list,
		trial{rows: [2]int{300000, 500000}, keys: 250000, key: 4, widths: [2][]int{{4}, {4}}, options: Options{Materialise: "om", Bits: 16}},
		trial{rows: [2]int{300000, 500000}, keys: 250000, key: 8, widths: two, options: Options{Materialise: "place", Bits: 15}},
		trial{rows: [2]int{300000, 500000}, keys: 250000, key: 4, widths: two, options: Options{}})
}

// Few keys on both sides, build sides of several chunks, one key.
func duplicates() (list []trial) {
	shrink := 1
	if testing.Short() {
		shrink = 4
	}
	for _, keys := range []int{1, 2, 7, 100, 1000} {
		for _, key := range []int{4, 8} {
			for _, bits := range []int{0, 4, 12} {
				for _, o := range []Options{{Materialise: "om"}, {Materialise: "um"}, {Materialise: "um", Few: true}, {Materialise: "place"}} {
					o.Bits = bits
					rows, few := 12000, 300
					if keys < 100 {
						rows, few = 1500, 30
					}
					rows, few = rows/shrink, few/shrink
					two, one := [2][]int{{key, key}, {key, key}}, [2][]int{{key}, {key}}
					list = append(list,
						trial{rows: [2]int{rows, rows}, keys: keys, key: key, widths: two, options: o},
						trial{rows: [2]int{20000 / shrink, few}, keys: keys, key: key, widths: one, options: o},
						trial{rows: [2]int{few, 60000 / shrink}, keys: keys, key: key, widths: one, options: o})
				}
			}
		}
	}
	return list
}

// Results larger than expected are returned whole, also if they exceed the chunks that
// every block has.
func rooms() (list []trial) {
	rows := 40000
	if testing.Short() {
		rows = 4000
	}
	for _, o := range append(options, Options{Materialise: "bypass"}) {
		list = append(list, trial{rows: [2]int{rows, rows}, keys: rows / 100, key: 4, widths: [2][]int{{4, 4}, {4, 2}}, options: o, room: 1000})
		list = append(list, trial{rows: [2]int{rows, 10 * rows}, keys: 2 * rows, key: 4, widths: [2][]int{{4}, {4}}, options: o, room: 1, hot: 0.7})
	}
	return list
}

// Hot keys take the bypass, unless they have several build rows.
func hotKeyed() (list []trial) {
	for _, key := range []int{4, 8} {
		for _, widths := range [][2][]int{{{4}, {4}}, {{4, 4}, {4, 4}}, {{4, 4, 4, 4}, {4, 4, 4, 4}}, {{8, 8}, {8, 8}}, {{1}, {2}}, {{8}, {4}}} {
			for _, hot := range []float64{0, 0.3, 0.95} {
				list = append(list, trial{rows: [2]int{20000, 50000}, keys: 30000, key: key, widths: widths, options: Options{Materialise: "bypass"}, hot: hot},
					trial{rows: [2]int{20000, 50001}, keys: 30000, key: key, widths: widths, options: Options{Materialise: "bypass", Bits: 11}, hot: hot})
			}
		}
	}
	return list
}

// Probe sides of which a filter passes all, some or no rows, for every payload kind;
// also if a sample decides, with a bypass, and if more rows pass than the sample
// promised.
func filtered() (list []trial) {
	rows := [2]int{4000, 26000}
	if testing.Short() {
		rows = [2]int{900, 9000}
	}
	widths := [][2][]int{{nil, nil}, {{4}, {4, 4}}, {{8}, {8, 8}}, {{2, 1}, {16, 1, 2}}, {{4, 4}, {4, 4, 4, 4, 4}}, {{4}, {16, 16, 8, 8}}}
	for _, key := range []int{4, 8} {
		for _, w := range widths {
			for _, keys := range []int{rows[0] / 2, 4 * rows[0], 1 << 30} {
				for _, o := range options {
					o.Bloom = bloomOn
					list = append(list, trial{rows: rows, keys: keys, key: key, widths: w, options: o})
				}
			}
		}
		two := [2][]int{{4, 4}, {4, 4}}
		for _, o := range []Options{{Sample: true}, {Sample: true, Bloom: bloomOn}, {Sample: true, Bloom: bloomOff}, {Materialise: "bypass", Bloom: bloomOn}, {Materialise: "bypass", Bloom: bloomOn, Bits: 11}} {
			for _, hot := range []float64{0, 0.4, 0.95} {
				list = append(list, trial{rows: [2]int{2000, 40001}, keys: 30000, key: key, widths: two, options: o, hot: hot},
					trial{rows: [2]int{2000, 40001}, keys: 30000, key: key, widths: two, options: o, hot: hot, room: 10})
			}
			list = append(list, trial{rows: [2]int{2000, 50000}, keys: 3000, key: key, widths: two, options: o, misled: true})
		}
		for _, r := range []int{0, 1, 31, 32, 33, 5000} {
			for _, s := range []int{0, 1, 31, 32, 33, 1535, 1536, 1537, 3071, 3072, 3073} {
				list = append(list, trial{rows: [2]int{r, s}, keys: r + s + 1, key: key, widths: two, options: Options{Bloom: bloomOn, Materialise: "om"}})
			}
		}
	}
	return append(list, trial{rows: [2]int{300, 400}, keys: 350, key: 4, widths: [2][]int{{4}, {8}}, options: Options{Bloom: bloomOn}, rowIDs: true})
}
