package exec_test

import (
	"fmt"
	"math"
	"testing"

	"gpujoin/joincore"
	"gpujoin/joincore/costmodel"
	"gpujoin/joincore/cpu"
	"gpujoin/joincore/exec"
	"gpujoin/testsupport/suite"
)

// perStream is at least what a stream holds.
const perStream = 2 << 20

// TestEstimateBoundsPeak: with the right numbers of rows, an execution needs
// no more than was estimated, apart from what each stream holds.
func TestEstimateBoundsPeak(t *testing.T) {
	key := func(scale uint64, n int) func(int) uint64 {
		return func(row int) uint64 { return uint64(row%n) * scale }
	}
	for _, npjRows := range []int64{1 << 10, 1 << 20} {
		for _, scale := range []uint64{1, 3, 0x9e3779b97f4a7c15} {
			for _, repeats := range []int{1, 3} {
				if (testing.Short() || suite.Race) && repeats != 1 {
					continue
				}
				name := fmt.Sprintf("npj up to %d, scale %d, %d rows a key", npjRows, scale, repeats)
				const n, facts = 60_000, 150_000
				fact := suite.Keyed(facts, key(scale, n))
				plan := &joincore.Plan{
					Inputs: []joincore.Input{{Columns: fact.Columns, Rows: facts}},
					Root:   &joincore.Scan{}, Output: []joincore.ColumnRef{{Column: 1}},
				}
				inputs := []*joincore.Relation{fact}
				rows := float64(facts)
				for i := 1; i <= 2; i++ {
					dim := suite.Keyed(n, key(scale, n/repeats))
					rows *= float64(n/repeats) / n * float64(repeats)
					inputs = append(inputs, dim)
					plan.Inputs = append(plan.Inputs, joincore.Input{Columns: dim.Columns, Rows: n})
					plan.Output = append(plan.Output, joincore.ColumnRef{Input: i, Column: 1})
					plan.Root = &joincore.Join{
						Kind: joincore.Inner, Left: plan.Root, Right: &joincore.Scan{Input: i}, Rows: rows,
						Keys: []joincore.KeyPair{{Right: joincore.ColumnRef{Input: i}, Class: joincore.KeyInt}},
					}
				}
				opt := exec.Options{Rates: &costmodel.Rates{NPJRows: npjRows}}
				opt.Device.Streams = 2
				var stats joincore.Stats
				sink := suite.NewDiscarder(suite.Int64Columns(3), 4, 1<<13)
				if err := suite.Run(t.Context(), cpu.New(), plan, inputs, &suite.Arena{}, sink, opt, &stats); err != nil {
					t.Fatal(err)
				}
				if estimate := exec.Estimate(suite.Checked(t, plan), opt); stats.Peak > estimate+2*perStream {
					t.Errorf("%s: peak %d, estimated %d", name, stats.Peak, estimate)
				}
			}
		}
	}
}

// TestEstimateOfForcedAlgorithms: that holds for an algorithm that the cost model
// would not choose, too.
func TestEstimateOfForcedAlgorithms(t *testing.T) {
	const n, facts = 400_000, 1_000_000
	scattered := func(row int) uint64 { return uint64(row%n) * 0x9e3779b97f4a7c15 }
	inputs := []*joincore.Relation{suite.Keyed(n, scattered), suite.Keyed(n, scattered)}
	plan := suite.PairPlan(inputs[0], inputs[1])
	for i, r := range inputs {
		plan.Inputs[i].Rows = float64(r.Rows())
	}
	opt := exec.Options{}
	opt.Device.Streams = 2
	for _, plan.Algorithm = range joincore.Algorithms {
		var stats joincore.Stats
		sink := suite.NewDiscarder(suite.Int64Columns(len(plan.Output)), 4, 1<<13)
		if err := suite.Run(t.Context(), cpu.New(), plan, inputs, &suite.Arena{}, sink, opt, &stats); err != nil {
			t.Fatal(err)
		}
		if estimate := exec.Estimate(suite.Checked(t, plan), opt); stats.Joins[0].Algorithm != plan.Algorithm.String() || stats.Peak > estimate+2*perStream {
			t.Errorf("%v: peak %d, estimated %d, %+v", plan.Algorithm, stats.Peak, estimate, stats.Joins[0])
		}
	}
}

// TestEstimateOfAHotBuildKey: that holds where all build rows have one key, and so are in one
// partition, whose table each worker has.
func TestEstimateOfAHotBuildKey(t *testing.T) {
	const n = 1_000_000 // of both sides: the more rows are probed with, the smaller a table is in comparison
	hot := func(int) uint64 { return 5 }
	scattered := func(row int) uint64 { return uint64(row+6) * 0x9e3779b97f4a7c15 }
	inputs := []*joincore.Relation{suite.Keyed(n, scattered), suite.Keyed(n, hot)}
	plan := suite.PairPlan(inputs[0], inputs[1])
	for i, r := range inputs {
		plan.Inputs[i].Rows = float64(r.Rows())
	}
	for _, streams := range []int{1, 2, 4} {
		for _, plan.Algorithm = range []joincore.Algorithm{joincore.PHJUM, joincore.PHJOM} {
			opt := exec.Options{}
			opt.Device.Streams = streams
			var stats joincore.Stats
			sink := suite.NewDiscarder(suite.Int64Columns(len(plan.Output)), 4, 1<<13)
			if err := suite.Run(t.Context(), cpu.New(), plan, inputs, &suite.Arena{}, sink, opt, &stats); err != nil {
				t.Fatal(err)
			}
			if estimate := exec.Estimate(suite.Checked(t, plan), opt); stats.Joins[0].Algorithm != plan.Algorithm.String() || stats.Peak > estimate {
				t.Errorf("%v, %d streams: peak %d, estimated %d, %+v", plan.Algorithm, streams, stats.Peak, estimate, stats.Joins[0])
			}
		}
	}
}

// TestEstimateOfAbsurdRows: whatever the planner says, the estimate is a
// positive number, and not a small one where the rows are many.
func TestEstimateOfAbsurdRows(t *testing.T) {
	rel := suite.Keyed(1, func(int) uint64 { return 0 })
	for _, rows := range []float64{0, -1, 1e18, math.Inf(1), math.NaN()} {
		plan := suite.PairPlan(rel, rel)
		for i := range plan.Inputs {
			plan.Inputs[i].Rows = rows
		}
		plan.Root.(*joincore.Join).Rows = rows
		n := exec.Estimate(suite.Checked(t, plan), exec.Options{})
		if n <= 0 || rows > 1e17 && n < 1<<40 {
			t.Errorf("%v rows: %d bytes", rows, n)
		}
	}
}

// TestEstimateGrowsWithThePlan: of very many rows, a plan with more functions is not expected to
// need less.
func TestEstimateGrowsWithThePlan(t *testing.T) {
	text := joincore.Column{Kind: joincore.Varlena, Align: 4}
	last := int64(0)
	for functions := 1; functions <= 1600; functions *= 2 {
		a := &joincore.Aggregate{Child: &joincore.Scan{}, ID: 1, Keys: []joincore.Value{joincore.ColumnRef{}}, Rows: 1e18}
		for range functions {
			a.Functions = append(a.Functions, joincore.Function{Kind: joincore.Count, Arg: joincore.ColumnRef{}, Distinct: true})
		}
		plan := &joincore.Plan{
			Inputs: []joincore.Input{{Columns: []joincore.Column{text}, Rows: 1e18}}, Root: a, Output: []joincore.ColumnRef{{Input: 1}},
		}
		n := exec.Estimate(suite.Checked(t, plan), exec.Options{})
		if n < last || n < 1<<40 {
			t.Errorf("%d functions: %d bytes, fewer had %d", functions, n, last)
		}
		last = n
	}
}
