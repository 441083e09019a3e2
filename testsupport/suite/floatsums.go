package suite

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"gpujoin/joincore"
)

// floatValues are kinds of values: of exponents close to each other and far from
// each other, values that cancel each other out, and those at the limits.
var floatValues = []struct {
	name string
	pick func(r *rand.Rand) float64
}{
	{"integers", func(r *rand.Rand) float64 { return float64(r.IntN(1000) - 500) }},
	{"decimals", func(r *rand.Rand) float64 { return math.Round(r.NormFloat64()*1e4) / 100 }},
	{"normal", func(r *rand.Rand) float64 { return r.NormFloat64() }},
	{"float4", func(r *rand.Rand) float64 { return float64(float32(r.NormFloat64() * 1e6)) }},
	{"far", func(r *rand.Rand) float64 { return math.Ldexp(r.NormFloat64(), r.IntN(300)-150) }},
	{"farthest", func(r *rand.Rand) float64 { return math.Ldexp(r.NormFloat64(), r.IntN(2200)-1150) }},
	{"cancelling", func(r *rand.Rand) float64 {
		return pick(r, []float64{1, -1}) * pick(r, []float64{0x1p100, 0x1p100, 1e20, 12345.678, 1.5, 1e-20, 1e-60})
	}},
	{"zeros", func(r *rand.Rand) float64 { return math.Copysign(0, pick(r, []float64{-1, -1, -1, 1})) }},
	{"subnormal", func(r *rand.Rand) float64 { return float64(r.IntN(100)-50) * math.SmallestNonzeroFloat64 }},
	{"largest", func(r *rand.Rand) float64 {
		return pick(r, []float64{1, 1, -1}) * pick(r, []float64{math.MaxFloat64, math.MaxFloat64, math.MaxFloat32, 0x1p970, 0x1p103})
	}},
	{"at the bound", func(r *rand.Rand) float64 {
		return pick(r, []float64{math.Nextafter(0x1p450, 0), math.Nextafter(0x1p450, 0), -0x1p449, 0x1p450})
	}},
	{"infinite", func(r *rand.Rand) float64 {
		return pick(r, []float64{1, 2, 3, 4, 5, 6, math.Inf(1), math.Inf(1), math.Inf(-1), math.NaN()})
	}},
}

// FloatSums compares sums and averages of floats with the oracle, bit by bit, with
// groups in tables of all kinds.
func FloatSums(t *testing.T, s Subject) {
	rounds := uint64(1500) / max(s.Thin, 1)
	if testing.Short() || Race {
		rounds = 150
	}
	ran, failed := 0, 0
	for seed := s.Offset; seed < s.Offset+rounds; seed++ {
		r := rand.New(rand.NewPCG(seed, 25))
		values := floatValues[seed%uint64(len(floatValues))]
		plan, inputs := floatSums(r, values.pick)
		if !s.runs(t, plan) {
			continue
		}
		ran++
		if CheckArithmetic(t, fmt.Sprintf("seed %d, %s", seed, values.name), s.Provider, plan, inputs, 1+r.IntN(40), s.groupOptions(r)) {
			failed++
		}
	}
	t.Logf("%d plans, %d with errors", ran, failed)
}

// floatSums makes an aggregate over one input of keys and floats.
func floatSums(r *rand.Rand, value func(*rand.Rand) float64) (*joincore.Plan, []*joincore.Relation) {
	key := joincore.Column{Kind: joincore.Fixed, Width: 4, Align: 4}
	float := joincore.Column{Kind: joincore.Fixed, Width: 8, Align: 8}
	rel := &joincore.Relation{Columns: []joincore.Column{key, float, float}}
	groups := pick(r, []int{1, 3, 30, 300})
	for range 1 + r.IntN(4) {
		n := 1 + r.IntN(100)
		order := func(int) int { return int(joincore.FloatOrder(value(r))) }
		rel.Segments = append(rel.Segments, joincore.Segment{Rows: n, Columns: []joincore.Vector{
			vector(r, key, n, 0.1, func(int) int { return r.IntN(groups) }),
			vector(r, float, n, 0, order), vector(r, float, n, 0.3, order),
		}})
	}
	a := &joincore.Aggregate{Child: &joincore.Scan{Input: 0}, ID: 1, Rows: float64(groups)}
	if r.IntN(4) > 0 {
		a.Keys = []joincore.Value{joincore.ColumnRef{Column: 0}}
	}
	few := &joincore.Compare{Op: joincore.Less, Left: joincore.ColumnRef{Column: 0}, Right: joincore.Int(groups / 2)}
	for range 1 + r.IntN(5) {
		f := joincore.Function{
			Kind: pick(r, []joincore.FunctionKind{joincore.SumFloat8, joincore.SumFloat4, joincore.AverageFloat}),
			Arg:  joincore.ColumnRef{Column: 1 + r.IntN(2)},
		}
		if r.IntN(3) == 0 {
			f.Filter = few
		}
		a.Functions = append(a.Functions, f)
	}
	plan := &joincore.Plan{Inputs: []joincore.Input{{Columns: rel.Columns}}, Root: a}
	for i := range len(a.Keys) + len(a.Functions) {
		plan.Output = append(plan.Output, joincore.ColumnRef{Input: 1, Column: i})
	}
	return plan, []*joincore.Relation{rel}
}
