package cpu

import (
	"fmt"
	"math"
	"math/bits"

	"gpujoin/joincore"
)

// The state of a sum of floats: a head, and the highest joincore.FloatDigits
// digits of the sum, the highest first. Each is a signed number of its own,
// without carries between them, which would depend on the order of the values. A
// value has three digits, the highest of which may be 0. The head says which digit
// of all floats is the highest of the state, plus 1, which one was the lowest of all
// values, and what values without digits there were.
const (
	floatWords = 1 + joincore.FloatDigits
	floatTop   = 1<<8 - 1 // 0: no finite value but 0
	floatZero  = 1 << 8   // a value was 0, not -0
	floatMost  = 1 << 9   // infinity
	floatLeast = 1 << 10  // -infinity
	floatNaN   = 1 << 11

	// From here on there is floatDeepest less the lowest digit of all values.
	floatDepth   = 24
	floatDeepest = 1<<8 - 1
)

// floatDigits is how many digits a value has.
const floatDigits = 3

const (
	mantissaBits = 52
	leading      = 1 << mantissaBits // the bit that a float does not store
	infinite     = 2047              // exponent of infinities and NaNs
)

var (
	errFloatSum  = fmt.Errorf("a sum of floats is out of range: %w", joincore.ErrArithmetic)
	errFloatRows = fmt.Errorf("a sum of more than %d floats: %w", joincore.FloatSumRows, joincore.ErrArithmetic)
	errFloatLoss = fmt.Errorf("a sum of floats that cancel each other out: %w", joincore.ErrArithmetic)
	errFloatSize = fmt.Errorf("an average of floats as large as 2^%d: %w", joincore.FloatAverageExponent, joincore.ErrArithmetic)
)

func isFloatSum(k joincore.FunctionKind) bool {
	return k == joincore.SumFloat8 || k == joincore.SumFloat4 || k == joincore.AverageFloat
}

// addFloats adds values to their groups.
func addFloats(state [][]uint64, group []uint32, v []uint64) {
	heads := state[0]
	v = v[:len(group)]
	for i, g := range group {
		sign := uint64(int64(v[i]) >> 63)
		magnitude := (v[i] ^ sign) & math.MaxInt64
		exponent := uint(magnitude >> mantissaBits)
		if exponent == infinite || magnitude == 0 {
			heads[g] |= floatSpecial(v[i])
			continue
		}
		m := magnitude & (leading - 1)
		if exponent > 0 {
			m |= leading
			exponent--
		}
		first, shift := exponent/joincore.FloatDigitBits, exponent%joincore.FloatDigitBits
		top := uint64(first + floatDigits)
		if top > heads[g]&floatTop {
			raiseFloat(state, g, top)
		}
		if depth := uint64(floatDeepest - first); depth > heads[g]>>floatDepth {
			heads[g] = heads[g]&(1<<floatDepth-1) | depth<<floatDepth
		}
		low := m << shift
		digits := [floatDigits]uint64{
			(m>>(64-shift) ^ sign) - sign,
			(low>>joincore.FloatDigitBits ^ sign) - sign,
			(low&(1<<joincore.FloatDigitBits-1) ^ sign) - sign,
		}
		switch heads[g]&floatTop - top {
		case 0:
			state[1][g] += digits[0]
			state[2][g] += digits[1]
			state[3][g] += digits[2]
		case 1:
			state[2][g] += digits[0]
			state[3][g] += digits[1]
			state[4][g] += digits[2]
		case 2:
			state[3][g] += digits[0]
			state[4][g] += digits[1]
			state[5][g] += digits[2]
		case 3:
			state[4][g] += digits[0]
			state[5][g] += digits[1]
		case 4:
			state[5][g] += digits[0]
		}
	}
}

// floatSpecial returns what the head keeps of a value that has no digits.
func floatSpecial(order uint64) uint64 {
	switch x := joincore.OrderedFloat(int64(order)); {
	case x == 0:
		if math.Signbit(x) {
			return 0
		}
		return floatZero
	case math.IsInf(x, 1):
		return floatMost
	case math.IsInf(x, -1):
		return floatLeast
	}
	return floatNaN
}

// raiseFloat makes top the highest digit of a group, and drops the lowest ones.
func raiseFloat(state [][]uint64, g uint32, top uint64) {
	head := state[0][g]
	by := int(min(top-head&floatTop, joincore.FloatDigits))
	for d := floatWords - 1; d > by; d-- {
		state[d][g] = state[d-by][g]
	}
	for d := 1; d <= by; d++ {
		state[d][g] = 0
	}
	state[0][g] = head&^floatTop | top
}

// mergeFloats adds the sum of group h of b to that of group g of a.
func mergeFloats(a, b [][]uint64, g, h uint32) {
	top := b[0][h] & floatTop
	if top > a[0][g]&floatTop {
		raiseFloat(a, g, top)
	}
	below := int(a[0][g]&floatTop - top)
	depth := max(a[0][g]>>floatDepth, b[0][h]>>floatDepth)
	a[0][g] = (a[0][g]|b[0][h]&^floatTop)&(1<<floatDepth-1) | depth<<floatDepth
	for d := 1; d+below < floatWords; d++ {
		a[d+below][g] += b[d][h]
	}
}

// floatResult returns the result of a function, as an integer that has its order.
func floatResult(k joincore.FunctionKind, state *[floatWords]uint64, values uint64) (uint64, error) {
	head := state[0]
	top := int(head & floatTop)
	if values > joincore.FloatSumRows {
		return 0, errFloatRows
	}
	// the exponent of the least value whose highest digit is this one
	least := (top-floatDigits)*joincore.FloatDigitBits + mantissaBits - floatUnit
	if k == joincore.AverageFloat && least >= joincore.FloatAverageExponent {
		return 0, errFloatSize
	}
	var sum float64
	switch {
	case head&floatNaN != 0 || head&(floatMost|floatLeast) == floatMost|floatLeast:
		sum = math.NaN()
	case head&floatMost != 0:
		sum = math.Inf(1)
	case head&floatLeast != 0:
		sum = math.Inf(-1)
	case top > 0:
		var err error
		if sum, err = roundFloat(k, state, values); err != nil {
			return 0, err
		}
	case head&floatZero == 0 && k != joincore.AverageFloat:
		sum = math.Copysign(0, -1) // all values are
	}
	if k == joincore.AverageFloat {
		sum /= float64(values)
	}
	return uint64(joincore.FloatOrder(sum)), nil
}

// floatUnit is the negative exponent of the least float greater than 0.
const floatUnit = 1074

// roundFloat rounds a sum to the nearest float, of float4 where the function is
// of these.
func roundFloat(k joincore.FunctionKind, state *[floatWords]uint64, values uint64) (float64, error) {
	number, negative := floatNumber(state)
	keep := mantissaBits + 1
	if k == joincore.SumFloat4 {
		keep = 24
	}
	length := 0
	for i, w := range number {
		if w != 0 {
			length = 64*i + bits.Len64(w)
		}
	}
	lowest := int(state[0]&floatTop) - joincore.FloatDigits // the digit that is the unit
	if dropped := floatDeepest-int(state[0]>>floatDepth) < lowest; dropped && length-1-keep < bits.Len64(values) {
		return 0, errFloatLoss
	}
	m, shift := number[0], 0
	if length > keep {
		shift = length - keep
		m = bitsFrom(&number, shift)
		rest := bitsFrom(&number, shift-1)&1 != 0
		if rest && (m&1 != 0 || anyBelow(&number, shift-1)) {
			m++
		}
	}
	sum := math.Ldexp(float64(m), shift+lowest*joincore.FloatDigitBits-floatUnit)
	if math.IsInf(sum, 0) || k == joincore.SumFloat4 && sum > math.MaxFloat32 {
		return 0, errFloatSum
	}
	if negative {
		sum = -sum
	}
	return sum, nil
}

// floatNumber adds up the digits: an integer without its sign, the lowest word
// first, of which the lowest digit is the unit.
func floatNumber(state *[floatWords]uint64) (number [3]uint64, negative bool) {
	var digits [6]uint32
	carry := int64(0)
	for i := range joincore.FloatDigits {
		carry += int64(state[floatWords-1-i])
		digits[i] = uint32(carry)
		carry >>= joincore.FloatDigitBits
	}
	digits[5] = uint32(carry)
	for i := range number {
		number[i] = uint64(digits[2*i]) | uint64(digits[2*i+1])<<32
	}
	if negative = carry < 0; negative {
		var borrow uint64
		for i, w := range number {
			number[i], borrow = bits.Sub64(0, w, borrow)
		}
	}
	return number, negative
}

// bitsFrom returns the 64 bits of a number from one on.
func bitsFrom(number *[3]uint64, from int) uint64 {
	word, shift := from/64, from%64
	x := number[word] >> shift
	if word+1 < len(number) {
		x |= number[word+1] << (64 - shift)
	}
	return x
}

// anyBelow says whether a bit below one is set.
func anyBelow(number *[3]uint64, from int) bool {
	word, shift := from/64, from%64
	for _, w := range number[:word] {
		if w != 0 {
			return true
		}
	}
	return number[word]&(1<<shift-1) != 0
}
