//go:build cuda

package smj

import "unsafe"

const groupBytes = int64(unsafe.Sizeof(group{}))

// plan decides what is sorted with each side's key, by which bits and by which
// kernel, and describes where the passes begin.
func (r *run) plan() {
	n := sortBits(r.Sides[0].Rows)
	shift, mask := digits(n)
	r.sort.Passes = uint64(len(shift))
	copy(r.sort.Shift[:], shift)
	copy(r.sort.Mask[:], mask)
	r.merge.Bits = uint64(n)
	widest := 4
	for i, in := range r.Sides {
		s := &r.sort.Side[i]
		s.Rows = uint64(in.Rows)
		add := func(from uint64, bytes int) {
			s.Column[s.Columns].At[0], s.Column[s.Columns].Bytes = from, uint64(bytes)
			s.Columns++
			widest = max(widest, bytes)
		}
		add(uint64(in.Key.Addr), in.Key.Bytes)
		var widths []int
		for _, c := range in.Payload {
			widths = append(widths, c.Bytes)
		}
		r.sources[i].Gather = !r.Join.RowIDs && byID(r.untransformed, widths)
		if r.Join.RowIDs || r.sources[i].Gather {
			add(0, 4) // row numbers
			continue
		}
		for _, c := range in.Payload {
			add(uint64(c.Addr), c.Bytes)
		}
	}
	wide, keyWords := 4, r.Join.Build.Key.Bytes/4
	if widest > 4 {
		wide = 8
	}
	rows := r.Sides[0].Rows + r.Sides[1].Rows
	r.pass = r.Kernel("gj_sort_pass_k%d_%d_many", keyWords, wide)
	if rows < int64(2*r.SMs*r.pass.Rows) {
		r.pass = r.Kernel("gj_sort_pass_k%d_%d_few", keyWords, wide)
	}
	r.tiles = tiles(r.Sides[0].Rows, r.pass.Rows) + tiles(r.Sides[1].Rows, r.pass.Rows)
	r.merge.Tiles = uint64(tiles(rows, r.Kernel("gj_merge_k%d", keyWords).Rows))
}

func tiles(rows int64, of int) int64 { return (rows + int64(of) - 1) / int64(max(of, 1)) }

// takeBuffers takes the small arrays, where the sorted columns will lie, and
// where they lie in between; the result may begin behind the former.
func (r *run) takeBuffers() {
	histogram, tickets := 2*int64(r.sort.Passes)*fan*4, int64(maxPasses)*4
	status := r.tiles * fan * 8
	r.sort.Histogram = r.Take(histogram + tickets)
	r.sort.Tickets = r.sort.Histogram + uint64(histogram)
	r.sort.Status = r.Take(status)
	r.Set(r.sort.Histogram, 0, histogram+tickets)
	r.Set(r.sort.Status, 0, status)
	r.merge.Splits = r.Take(4 * (int64(r.merge.Tiles) + 1))
	r.merge.Groups = r.Take(groupBytes * (r.Sides[0].Rows/maxGroup + int64(r.merge.Tiles)))

	passes := int(r.sort.Passes)
	for odd := range min(2, passes) {
		if odd == 1 {
			r.behind = r.Mark()
		}
		for i := range r.sort.Side {
			s := &r.sort.Side[i]
			for c := range s.Columns {
				at := r.Take(int64(s.Rows * s.Column[c].Bytes))
				for p := passes - odd; p > 0; p -= 2 {
					s.Column[c].At[p] = at
				}
			}
		}
	}
	if passes == 1 {
		r.behind = r.Mark()
	}
	for i := range r.sort.Side {
		s := &r.sort.Side[i]
		r.merge.Rows[i], r.merge.Key[i] = s.Rows, s.Column[0].At[passes]
		source := &r.sources[i]
		source.Key = r.merge.Key[i]
		if r.Join.RowIDs || source.Gather {
			source.IDs = s.Column[1].At[passes]
			continue
		}
		for c := uint64(1); c < s.Columns; c++ {
			source.Payload = append(source.Payload, s.Column[c].At[passes])
		}
	}
}

// sortedBytes returns the size of the columns that are sorted.
func (r *run) sortedBytes() (bytes int64) {
	for _, s := range r.sort.Side {
		for _, c := range s.Column[:s.Columns] {
			bytes += int64(s.Rows * c.Bytes)
		}
	}
	return bytes
}
