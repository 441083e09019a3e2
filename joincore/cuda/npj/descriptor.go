package npj

import (
	"math/bits"

	"gpujoin/joincore/cuda/launch"
)

// tableDescriptor is gj_table of kernels/sort.h, which says what each field means.
type tableDescriptor struct {
	Rows, Key     [2]uint64
	Slots, Table  uint64
	Range         uint64
	Next, Repeats uint64
	Result        launch.Result
}

// maxBuild is the most build rows: slots are numbered in 32 bits.
const maxBuild = 1 << 31

// slots returns the slots of a table for so many build rows: a power of two, at
// most half of them in use.
func slots(buildRows int64) int64 {
	return 2 << bits.Len64(uint64(max(buildRows, 1)-1))
}
