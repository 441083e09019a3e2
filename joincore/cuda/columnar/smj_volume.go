package columnar

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
	sum, widest := 0, 0
	for _, b := range v.widths[side] {
		sum, widest = sum+b, max(widest, b)
	}
	return w == sortRowIDs && sum > 4 && widest >= 4
}

// sorted returns the bytes of a side's columns that are sorted first.
func (v smjVolume) sorted(w smjStrategy, side int) int64 {
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
