package npj

import "gpujoin/joincore/cuda/columnar/launch"

// tableDescriptor is gj_table of kernels/layout/sort.h, which says what each field means.
type tableDescriptor struct {
	Rows, Key     [2]uint64
	Slots, Table  uint64
	Range         uint64
	Next, Repeats uint64
	Result        launch.Result
}

// maxBuild is the most build rows: slots are numbered in 32 bits.
const maxBuild = 1 << 31

// slots returns the slots of a table for so many build rows, in whole lines: half
// of them are in use where there is room for that (in bytes), or more, up to
// four fifths.
func slots(buildRows, room int64) int64 {
	least := max(min(2*buildRows, room/slotBytes), buildRows+buildRows/4, buildRows+1)
	return lines(least)
}

// lines rounds slots up to whole lines.
func lines(slots int64) int64 { return (slots + lineSlots - 1) / lineSlots * lineSlots }

const (
	slotBytes = 8
	lineSlots = 8 // that a search looks at before it goes on
)
