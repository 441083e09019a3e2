package oracle

import (
	"math"
	"math/big"

	"gpujoin/joincore"
)

// floatSum computes a sum or an average of floats, as the integer that has its
// order.
func floatSum(kind joincore.FunctionKind, values []value) (*big.Int, error) {
	var floats []float64
	other := math.Copysign(0, -1) // the sum of values that are not finite, and of zeros
	for _, v := range values {
		x := joincore.OrderedFloat(v.n.Int64())
		if x == 0 || math.IsInf(x, 0) || math.IsNaN(x) {
			other += x
		} else {
			floats = append(floats, x)
		}
		if kind == joincore.AverageFloat && !math.IsInf(x, 0) && math.Abs(x) >= math.Ldexp(1, joincore.FloatAverageExponent) {
			return nil, joincore.ErrArithmetic
		}
	}
	sum := other
	if len(floats) > 0 && other == 0 {
		var err error
		if sum, err = roundedSum(kind, floats, len(values)); err != nil {
			return nil, err
		}
	}
	if kind == joincore.AverageFloat {
		sum = (0 + sum) / float64(len(values)) // 0, not -0
	}
	return big.NewInt(joincore.FloatOrder(sum)), nil
}

// leastExponent is that of the least float greater than 0.
const leastExponent = -1074

// units returns a finite float as a multiple of the least one.
func units(x float64) *big.Int {
	fraction, exponent := math.Frexp(x)
	n := big.NewInt(int64(math.Ldexp(fraction, 53)))
	if by := exponent - 53 - leastExponent; by >= 0 {
		return n.Lsh(n, uint(by))
	} else {
		return n.Quo(n, new(big.Int).Lsh(big.NewInt(1), uint(-by))) // a subnormal: exact
	}
}

// roundedSum adds finite floats other than 0, without the bits of each that are
// below the digits which are kept, and rounds the sum once. n is the number of all
// values.
func roundedSum(kind joincore.FunctionKind, floats []float64, n int) (float64, error) {
	highest, deepest := 0, math.MaxInt
	for _, x := range floats {
		first := max(units(x).BitLen()-53, 0) / joincore.FloatDigitBits
		highest, deepest = max(highest, first+2), min(deepest, first)
	}
	lowest := uint(max(highest-joincore.FloatDigits+1, 0) * joincore.FloatDigitBits)
	sum := new(big.Int)
	for _, x := range floats {
		n := units(x)
		n.Quo(n, new(big.Int).Lsh(big.NewInt(1), lowest)) // toward 0
		sum.Add(sum, n)
	}
	precision := uint(53)
	if kind == joincore.SumFloat4 {
		precision = 24
	}
	loss := new(big.Int).Lsh(big.NewInt(int64(n)), precision+1) // that would be half a unit in the last place
	if deepest < highest-joincore.FloatDigits+1 && sum.BitLen() < loss.BitLen() {
		return 0, joincore.ErrArithmetic
	}
	rounded := new(big.Float).SetPrec(precision).SetMode(big.ToNearestEven).SetInt(sum)
	rounded.SetMantExp(rounded, int(lowest)+leastExponent)
	out, _ := rounded.Float64()
	if math.IsInf(out, 0) || kind == joincore.SumFloat4 && math.Abs(out) > math.MaxFloat32 {
		return 0, joincore.ErrArithmetic
	}
	return out, nil
}
