package columnar

// tableDescriptor mirrors gj_table of kernels/layout/sort.h, where the fields
// are documented.
type tableDescriptor struct {
	Rows, Key     [2]uint64
	Slots, Table  uint64
	Range         uint64
	Next, Repeats uint64
	Result        Result
}

// maxTableRows is the maximum number of build rows: slot numbers have 32 bits.
const maxTableRows = 1 << 31

// tableSlots returns the number of slots of a table, in whole lines: half full if `room`
// bytes suffice for that, otherwise fuller, up to four fifths.
func tableSlots(buildRows, room int64) int64 {
	least := max(min(2*buildRows, room/slotBytes), buildRows+buildRows/4, buildRows+1)
	return wholeLines(least)
}

// wholeLines rounds slots up to whole lines.
func wholeLines(slots int64) int64 { return (slots + lineSlots - 1) / lineSlots * lineSlots }

const (
	slotBytes = 8
	lineSlots = 8 // slots that a search reads together
)
