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

// smjStrategy is how payload reaches the result.
type smjStrategy int

const (
	// sortAll: all columns are sorted with the key (GFTR).
	sortAll smjStrategy = iota
	// columnAtATime: columns are sorted with the key one by one, and gathered by the
	// positions of the partners (GFTR, column at a time). The sort is stable, so the
	// positions are the same for every column.
	columnAtATime
	// sortRowIDs: row ids are sorted with the key, and payload is gathered by
	// them (GFUR).
	sortRowIDs
)

// smjVolume has the parameters of a join's memory use.
type smjVolume struct {
	keyBytes   int
	rows       [2]int64
	widths     [2][]int // of the payload, or of a row id if that replaces it in the result
	rowBytes   int64    // of the result
	outputRows int64
	passes     int
}

// numbered reports whether a side's payload is gathered by row id. Payload no
// wider than a row id moves with the key instead, and so does payload without a
// result column that could hold row ids.
func (v smjVolume) numbered(w smjStrategy, side int) bool {
	return w == sortRowIDs && Total(v.widths[side]) > 4 && numberColumn(v.widths[side]) >= 0
}

// sorted returns the bytes of a side's columns that are sorted first.
func (v smjVolume) sorted(w smjStrategy, side int) int64 {
	width := int64(v.keyBytes)
	switch {
	case v.numbered(w, side):
		width += 4
	case w != columnAtATime:
		width += int64(Total(v.widths[side]))
	}
	return v.rows[side] * width
}

// buffers returns the number of copies that a sort holds: its result, and the buffer of
// intermediate passes.
func (v smjVolume) buffers() int64 { return int64(min(v.passes, 2)) }

// numbers returns the bytes of the row ids outside the result.
func (v smjVolume) numbers(w smjStrategy, inPlace bool) (bytes int64) {
	for side, widths := range v.widths {
		if v.numbered(w, side) || w == columnAtATime && len(widths) > 0 {
			bytes += v.outputRows * NumberBytes(widths, inPlace)
		}
	}
	return bytes
}

// peak returns the peak bytes of a join in addition to its inputs. status is the bytes
// of look-back state per sorted row.
func (v smjVolume) peak(w smjStrategy, inPlace bool, status float64) int64 {
	lists := v.rows[0]*equalRunBytes/maxEqualRun + (v.rows[0]+v.rows[1])*(equalRunBytes+4)/tileRows
	result := v.outputRows*v.rowBytes + v.numbers(w, inPlace)
	look := func(rows int64) int64 { return int64(float64(rows) * status) }
	keys := v.sorted(w, 0) + v.sorted(w, 1)
	sorting := keys*v.buffers() + look(v.rows[0]+v.rows[1])
	if w != columnAtATime {
		return max(sorting, keys+lists+result)
	}
	later := max(sorting, keys+lists)
	for side, widths := range v.widths {
		for _, b := range widths {
			later = max(later, v.rows[side]*int64(v.keyBytes+b)*v.buffers()+look(v.rows[side]))
		}
	}
	return result + later
}

// tileRows is the assumed minimum number of rows of a merge tile.
const tileRows = 2048
