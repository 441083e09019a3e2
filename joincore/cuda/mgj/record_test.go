package mgj

import (
	"slices"
	"testing"

	"gpujoin/joincore/costmodel"
)

// way is how a join was executed.
type way struct {
	Strategy
	bloom bool
}

var (
	one               = way{Strategy: Alone}
	exchanged         = way{Strategy: Exchange}
	replicated        = way{Strategy: Replicate}
	exchangeFiltered  = way{Exchange, true}
	replicateFiltered = way{Replicate, true}
)

// record is a join that was measured on two H200, in ms.
type record struct {
	name         string
	build, probe float64 // 10^6 rows
	match        float64 // share of probe rows
	payload      [2][]int
	ms           map[way]float64
}

func (c *record) resident() costmodel.Resident {
	j := costmodel.Resident{KeyBytes: 4, Rows: [2]int64{int64(c.build * 1e6), int64(c.probe * 1e6)}, Payload: c.payload}
	j.ResultRows = int64(c.match * c.probe * 1e6)
	return j.Matching()
}

// recorded are the joins of TPC-H at scale factor 100 (bench-multi -only tpch, 2026-11-28, commit 92e07848), then those of
// -only joins (bench/results/bench-multi). Ways that a record does not have were not measured.
var recorded = []record{
	{name: "q3-customer-orders", build: 3.0142, probe: 72.7305, match: 0.2023, payload: [2][]int{nil, {4, 4, 4}},
		ms: map[way]float64{one: 1.846, exchanged: 1.781, replicated: 1.479, exchangeFiltered: 1.640, replicateFiltered: 1.355}},
	{name: "q3-orders-lineitem", build: 14.7126, probe: 324.1776, match: 0.0094, payload: [2][]int{{4, 4}, {8, 8}},
		ms: map[way]float64{one: 4.157, exchanged: 6.846, replicated: 6.285, exchangeFiltered: 2.940, replicateFiltered: 2.948}},
	{name: "q5-customer-orders", build: 3.0183, probe: 22.7597, match: 0.2021, payload: [2][]int{{4}, {4}},
		ms: map[way]float64{one: 0.685, exchanged: 0.975, replicated: 0.744, exchangeFiltered: 0.950, replicateFiltered: 0.939}},
	{name: "q5-orders-lineitem", build: 4.6008, probe: 600.1215, match: 0.0307, payload: [2][]int{{4}, {4, 8, 8}},
		ms: map[way]float64{one: 7.033, exchanged: 11.799, replicated: 11.323, exchangeFiltered: 4.363, replicateFiltered: 3.995}},
	{name: "q5-supplier-lineitem", build: 0.2003, probe: 18.4082, match: 0.1995, payload: [2][]int{{4}, {4, 8, 8}},
		ms: map[way]float64{one: 0.792, exchanged: 1.137, replicated: 0.912, exchangeFiltered: 1.234, replicateFiltered: 1.038}},
	{name: "q10-orders-lineitem", build: 5.7069, probe: 147.887, match: 0.0776, payload: [2][]int{{4}, {8, 8}},
		ms: map[way]float64{one: 2.513, exchanged: 3.480, replicated: 3.065, exchangeFiltered: 1.987, replicateFiltered: 1.738}},
	{name: "q10-lineitem-customer", build: 11.4705, probe: 15, match: 0.7647, payload: [2][]int{{8, 8}, {4, 8, 4}},
		ms: map[way]float64{one: 1.570, exchanged: 1.416, replicated: 1.605, exchangeFiltered: 1.672, replicateFiltered: 2.052}},
	{name: "q12-lineitem-orders", build: 3.0988, probe: 150, match: 0.0207, payload: [2][]int{{4}, {4}},
		ms: map[way]float64{one: 1.924, exchanged: 1.808, replicated: 1.659, exchangeFiltered: 1.639, replicateFiltered: 1.380}},
	{name: "q14-lineitem-part", build: 7.5983, probe: 20, match: 0.3799, payload: [2][]int{{8, 8}, {4}},
		ms: map[way]float64{one: 1.052, exchanged: 1.163, replicated: 1.114, exchangeFiltered: 1.271, replicateFiltered: 1.429}},
	{name: "q19-part-lineitem", build: 0.0485, probe: 12.8371, match: 0.0025, payload: [2][]int{{4, 4, 4}, {8, 8, 8}},
		ms: map[way]float64{one: 0.574, exchanged: 0.934, replicated: 0.845, exchangeFiltered: 1.009, replicateFiltered: 0.830}},
	of("1+1", 1<<27, 1<<28, 1, map[way]float64{one: 7.01, exchanged: 4.14}),
	of("2+2", 1<<27, 1<<28, 2, map[way]float64{one: 10.29, exchanged: 5.93}),
	of("4+4", 1<<27, 1<<28, 4, map[way]float64{one: 16.14, exchanged: 9.53}),
	of("2^24x2^28", 1<<24, 1<<28, 2, map[way]float64{one: 7.22, replicated: 3.86}),
	of("2^25x2^26", 1<<25, 1<<26, 2, map[way]float64{one: 2.78, exchanged: 1.79}),
	of("2^24x2^25", 1<<24, 1<<25, 2, map[way]float64{one: 1.48, exchanged: 1.28}),
	of("2^20x2^21", 1<<20, 1<<21, 2, map[way]float64{one: 0.21}),
	of("2^28x2^29", 1<<28, 1<<29, 2, map[way]float64{one: 20.74, exchanged: 11.76}),
}

// of is a join of which each probe row has a match, with some columns of 4 bytes a side.
func of(name string, build, probe float64, columns int, ms map[way]float64) record {
	w := slices.Repeat([]int{4}, columns)
	return record{name: name, build: build / 1e6, probe: probe / 1e6, match: 1, payload: [2][]int{w, w}, ms: ms}
}

// h200GB is what an H200 sends to another one while it receives as much.
const h200GB = 380

// farthest is by how much more time than the fastest way a choice may take.
const farthest = 1.05

// Of the ways that were measured, the choice is at most 5 % slower than the fastest one.
func TestChoicesOfRecordedJoins(t *testing.T) {
	for _, c := range recorded {
		best, at := 0.0, func(p Choice) way { return way{p.Strategy, p.Bloom} }
		for _, ms := range c.ms {
			if best == 0 || ms < best {
				best = ms
			}
		}
		list := Predict(&costmodel.DefaultDeviceRates, c.resident(), 2, h200GB)
		for _, p := range list {
			t.Logf("%s, %v with filter %v: %.2f ms are predicted, %.2f were measured", c.name, p.Strategy, p.Bloom, p.MS, c.ms[at(p)])
		}
		list = slices.DeleteFunc(list, func(p Choice) bool { return c.ms[at(p)] == 0 })
		got := fastest(list)
		if c.ms[at(got)] > farthest*best {
			t.Errorf("%s: %v with filter %v takes %.2f ms, the fastest way %.2f", c.name, got.Strategy, got.Bloom, c.ms[at(got)], best)
		}
	}
}
