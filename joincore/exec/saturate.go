package exec

import (
	"math"
	"math/bits"
)

// Estimates are of rows that a planner may have guessed, times widths, summed over all nodes
// of a plan. They stay at the largest number where they would exceed it.

// plus returns the sum of numbers that are not negative.
func plus(all ...int64) int64 {
	sum := int64(0)
	for _, n := range all {
		if sum > math.MaxInt64-n {
			return math.MaxInt64
		}
		sum += n
	}
	return sum
}

// times returns the product of numbers that are not negative.
func times(all ...int64) int64 {
	product := int64(1)
	for _, n := range all {
		high, low := bits.Mul64(uint64(product), uint64(n))
		if high != 0 || low > math.MaxInt64 {
			return math.MaxInt64
		}
		product = int64(low)
	}
	return product
}
