package columnar

import (
	"math/bits"
	"unsafe"
)

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

// SortPasses returns the number of sort passes for a join with the given build rows.
func SortPasses(buildRows int64) int {
	shift, _ := sortDigits(sortBits(buildRows))
	return len(shift)
}

// The descriptors mirror kernels/layout/sort.h, where the fields are documented.

const (
	maxSortColumns = 1 + MaxPayload
	maxSortPasses  = 4
	digitBits      = 9
	sortFan        = 1 << digitBits
	maxEqualRun    = 128 // the fewest build rows of a deferred equal run
)

type sortColumn struct {
	At    [maxSortPasses + 1]uint64
	Bytes uint64
}

type sortSide struct {
	Rows, Columns uint64
	Column        [maxSortColumns]sortColumn
}

type sortDescriptor struct {
	Side      [2]sortSide // build, probe
	Passes    uint64
	Shift     [maxSortPasses]uint64
	Mask      [maxSortPasses]uint64
	Histogram uint64
	Tickets   uint64
	Status    uint64
}

type mergeDescriptor struct {
	Rows, Key       [2]uint64
	Bits            uint64
	Tiles, Splits   uint64
	Runs            uint64
	Deferred, Slice uint64
	Result          Result
}

// equalRun is gj_equal_run: build and probe rows of one order, too many
// for a tile.
type equalRun struct {
	FirstSlice       uint64
	Build, BuildRows uint64
	Probe, ProbeRows uint64
}

const equalRunBytes = int64(unsafe.Sizeof(equalRun{}))
