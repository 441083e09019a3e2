package smj

import "gpujoin/joincore/cuda/columnar/launch"

// strategy is how payload gets into the result.
type strategy int

const (
	// sortAll: all columns are sorted with the key (GFTR).
	sortAll strategy = iota
	// columnAtATime: each column is sorted with the key when its turn has come, and
	// gathered by the places of the partners (GFTR, column at a time). The sort is
	// stable, so these are the same for every column.
	columnAtATime
	// sortRowIDs: row numbers are sorted with the key, and payload is gathered by them (GFUR).
	sortRowIDs
)

// volume is what a join's memory depends on.
type volume struct {
	keyBytes   int
	rows       [2]int64
	widths     [2][]int // of the payload; of a row number where the result has that in its place
	rowBytes   int64    // of the result
	outputRows int64
	passes     int
}

// numbered says whether a side's payload is gathered by row numbers. What is
// no wider than these goes with the key in their place, and so does what has no
// column in whose place they could lie.
func (v volume) numbered(w strategy, side int) bool {
	sum, widest := 0, 0
	for _, b := range v.widths[side] {
		sum, widest = sum+b, max(widest, b)
	}
	return w == sortRowIDs && sum > 4 && widest >= 4
}

// sorted returns the size of the columns of a side that are sorted at first.
func (v volume) sorted(w strategy, side int) int64 {
	width := int64(v.keyBytes)
	switch {
	case v.numbered(w, side):
		width += 4
	case w != columnAtATime:
		for _, b := range v.widths[side] {
			width += int64(b)
		}
	}
	return v.rows[side] * width
}

// buffers returns how often a sort holds what it sorts: where it ends, and
// where it is in between.
func (v volume) buffers() int64 { return int64(min(v.passes, 2)) }

// numbers returns the size of the row numbers that lie beside the result.
func (v volume) numbers(w strategy, inPlace bool) (bytes int64) {
	for side, widths := range v.widths {
		if v.numbered(w, side) || w == columnAtATime && len(widths) > 0 {
			bytes += v.outputRows * launch.NumberBytes(widths, inPlace)
		}
	}
	return bytes
}

// peak returns what a join uses beside its inputs. status is the look-back's
// bytes a row that is sorted.
func (v volume) peak(w strategy, inPlace bool, status float64) int64 {
	lists := v.rows[0]*groupBytes/maxGroup + (v.rows[0]+v.rows[1])*(groupBytes+4)/tileRows
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

// tileRows is the fewest rows of a tile of the merge that are reckoned with.
const tileRows = 2048
