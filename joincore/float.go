package joincore

import "math"

// Floats are computed as integers of 8 bytes that have their order: the bits of a
// negative float count downwards. NaNs are the greatest integer, -0 is the least.

// OrderedFloat returns the float of such an integer.
func OrderedFloat(order int64) float64 {
	switch {
	case order >= 0:
		return math.Float64frombits(uint64(order))
	case order == math.MinInt64:
		return math.Copysign(0, -1)
	}
	return math.Float64frombits(uint64(order ^ math.MaxInt64))
}

// FloatOrder returns the integer of a float.
func FloatOrder(x float64) int64 {
	bits := int64(math.Float64bits(x))
	switch {
	case math.IsNaN(x):
		return math.MaxInt64
	case bits >= 0:
		return bits
	case x == 0:
		return math.MinInt64
	}
	return bits ^ math.MaxInt64
}

// A sum of floats is computed of digits of FloatDigitBits bits, whose places do not
// depend on the values: digit 0 begins with the bit of the least float greater than
// 0. A value has three digits, the highest of which may be 0. Only FloatDigits of a
// sum are kept: the highest three that a value has, and those below them. What
// other values have below these is dropped. So the sum does not depend on the
// order of the values.
//
// Nothing is dropped where each value is at least 2^-64 times the largest one. Else
// the sum of n values has an error of less than n units of the lowest digit.
// Where that may be half a unit in the last place of the result, because large
// values cancel each other out, the sum is ErrArithmetic. So a result is the
// nearest float to the exact sum, or one next to it.
//
// Sources: Demmel and Nguyen, Parallel Reproducible Summation, IEEE Transactions
// on Computers 64(7), 2015; Neal, Fast Exact Summation Using Small and Large
// Superaccumulators, 2015.
const (
	FloatDigitBits = 32
	FloatDigits    = 5
)

// FloatSumRows bounds the values of a sum of floats: more are ErrArithmetic.
const FloatSumRows = math.MaxInt32

// FloatAverageExponent bounds the values of an average of floats: finite ones of
// at least 2^FloatAverageExponent are ErrArithmetic. PostgreSQL also computes the
// sum of the squares of their differences, which may be out of range although
// the average is not.
const FloatAverageExponent = 450
