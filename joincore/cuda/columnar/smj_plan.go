package columnar

import "math/bits"

// sortBits returns the number of hash bits that distinguish the build rows: one row per
// value on average, or four if that saves a pass.
func sortBits(buildRows int64) int {
	enough := max(1, bits.Len64(uint64(max(buildRows, 1)-1)))
	if fewer := (enough - 1) / digitBits * digitBits; fewer >= enough-2 && fewer > 0 {
		return fewer
	}
	return min(enough, 32)
}

// sortDigits divides the top n bits of a 32-bit hash among passes, lowest first, as evenly
// as possible.
func sortDigits(n int) (shift, mask []uint64) {
	passes := (n + digitBits - 1) / digitBits
	low := 32 - n
	for p := range passes {
		width := n / passes
		if p < n%passes {
			width++
		}
		shift = append(shift, uint64(low))
		mask = append(mask, 1<<width-1)
		low += width
	}
	return shift, mask
}
