package cpu

import (
	"errors"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"gpujoin/joincore"
)

// sumOf adds floats in several groups, which it then merges.
func sumOf(kind joincore.FunctionKind, floats []float64, parts int) (float64, error) {
	state := make([][]uint64, floatWords)
	for i := range state {
		state[i] = make([]uint64, parts+1)
	}
	group, v := make([]uint32, len(floats)), make([]uint64, len(floats))
	for i, x := range floats {
		group[i], v[i] = uint32(1+i%parts), uint64(joincore.FloatOrder(x))
	}
	addFloats(state, group, v)
	var sum [floatWords]uint64
	for g := 2; g <= parts; g++ {
		mergeFloats(state, state, 1, uint32(g))
	}
	for i := range sum {
		sum[i] = state[i][1]
	}
	order, err := floatResult(kind, &sum, uint64(len(floats)))
	return joincore.OrderedFloat(int64(order)), err
}

// exactSum returns the float next to the exact sum.
func exactSum(floats []float64) float64 {
	sum := new(big.Float).SetPrec(4000)
	for _, x := range floats {
		sum.Add(sum, new(big.Float).SetFloat64(x))
	}
	out, _ := sum.Float64()
	return out
}

// TestFloatSumsDoNotDependOnTheOrder adds the same values in many orders and
// numbers of parts: all sums are equal, and at most one float away from the
// exact one.
func TestFloatSumsDoNotDependOnTheOrder(t *testing.T) {
	sums, lost := 0, 0
	for seed := range uint64(600) {
		r := rand.New(rand.NewPCG(seed, 1))
		floats := make([]float64, 1+r.IntN(200))
		spread := []int{1, 20, 60, 70, 130, 300, 1500}[seed%7]
		for i := range floats {
			floats[i] = math.Ldexp(r.NormFloat64(), r.IntN(spread)-spread/2)
			if i > 0 && seed%2 == 0 && r.IntN(100) > 0 { // the one before cancels it out
				floats[i] = -floats[i-1]
			}
		}
		exact := exactSum(floats)
		first, firstErr := sumOf(joincore.SumFloat8, floats, 1)
		if firstErr == nil && first != exact && first != math.Nextafter(exact, first) {
			t.Fatalf("seed %d: the sum is %g, the exact one %g", seed, first, exact)
		}
		if spread <= 60 && (firstErr != nil || first != exact) {
			t.Fatalf("seed %d: the sum is %g and %v, although nothing is dropped: it is %g", seed, first, firstErr, exact)
		}
		for range 5 {
			r.Shuffle(len(floats), func(i, j int) { floats[i], floats[j] = floats[j], floats[i] })
			sum, err := sumOf(joincore.SumFloat8, floats, 1+r.IntN(5))
			if math.Float64bits(sum) != math.Float64bits(first) || !errors.Is(err, firstErr) {
				t.Fatalf("seed %d: sums %g (%v) and %g (%v)", seed, first, firstErr, sum, err)
			}
		}
		if firstErr == nil {
			sums++
		} else {
			lost++
		}
	}
	if sums < 300 || lost < 10 {
		t.Errorf("%d sums, %d where too much was dropped", sums, lost)
	}
}

// TestFloatSumsOfManyValues adds the largest digits often enough for each to carry
// far, and refuses to add more than a digit can hold.
func TestFloatSumsOfManyValues(t *testing.T) {
	largest := math.Nextafter(0x1p500, 0)
	state := make([][]uint64, floatWords)
	for i := range state {
		state[i] = make([]uint64, 2)
	}
	addFloats(state, []uint32{1}, []uint64{uint64(joincore.FloatOrder(largest))})
	values := uint64(1)
	for values <= joincore.FloatSumRows/2 { // doubles
		mergeFloats(state, state, 1, 1)
		values *= 2
	}
	sum := func() (uint64, error) {
		var all [floatWords]uint64
		for i := range all {
			all[i] = state[i][1]
		}
		return floatResult(joincore.SumFloat8, &all, values)
	}
	got, err := sum()
	if want := largest * float64(values); err != nil || joincore.OrderedFloat(int64(got)) != want {
		t.Errorf("%d values: %g and %v, want %g", values, joincore.OrderedFloat(int64(got)), err, want)
	}
	values = joincore.FloatSumRows + 1
	if _, err = sum(); !errors.Is(err, joincore.ErrArithmetic) {
		t.Errorf("%d values: %v", values, err)
	}
}
