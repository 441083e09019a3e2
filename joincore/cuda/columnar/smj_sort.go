//go:build cuda

package columnar

import "gpujoin/joincore/cuda/driver"

// sortedColumn is a column that a sort moves; `from` 0 stands for row numbers.
type sortedColumn struct {
	from  uint64
	bytes int
}

// keyOf returns the key column, the first in each sort of a side.
func (r *smjRun) keyOf(side int) sortedColumn {
	k := r.Sides[side].Key
	return sortedColumn{uint64(k.Addr), k.Bytes}
}

// sortColumns queues the sort of columns, the keys first; it skips a side without
// columns. The first sort also counts the digits. It returns the addresses of the
// sorted columns, the mark from which memory is free after the sort, and the bytes
// moved.
func (r *smjRun) sortColumns(columns [2][]sortedColumn) (sorted [2][]uint64, behind driver.Mark, bytes int64) {
	d := r.sort
	widest, rows := 4, int64(0)
	for i, list := range columns {
		s := &d.Side[i]
		if len(list) > 0 {
			s.Rows = uint64(r.Sides[i].Rows)
			rows += r.Sides[i].Rows
		}
		for _, c := range list {
			s.Column[s.Columns] = sortColumn{At: [maxSortPasses + 1]uint64{c.from}, Bytes: uint64(c.bytes)}
			s.Columns++
			widest = max(widest, c.bytes)
			bytes += int64(s.Rows) * int64(c.bytes)
		}
	}
	pass := r.passKernel(rows, widest)
	n := mergeTiles(int64(d.Side[0].Rows), pass.Rows) + mergeTiles(int64(d.Side[1].Rows), pass.Rows)

	// The passes' alternating buffers. The last pass's comes first, so that the
	// rest can be released.
	passes := int(d.Passes)
	for odd := range min(2, passes) {
		for i := range d.Side {
			s := &d.Side[i]
			for c := range s.Columns {
				at := r.Take(int64(s.Rows * s.Column[c].Bytes))
				for p := passes - odd; p > 0; p -= 2 {
					s.Column[c].At[p] = at
				}
				if odd == 0 {
					sorted[i] = append(sorted[i], at)
				}
			}
		}
		if odd == 0 {
			behind = r.Mark()
		}
	}
	d.Status = r.Take(n * sortFan * 8)
	r.Set(d.Status, 0, n*sortFan*8)
	r.Set(d.Tickets, 0, maxSortPasses*4)
	at := Put(r.Job, &d)
	r.countDigits(at, rows)
	for p := range d.Passes {
		r.Launch(pass, r.Grid(pass, n), at, p)
	}
	return sorted, behind, bytes
}

// countDigits queues the histograms of both sides' keys, once per join.
func (r *smjRun) countDigits(sort uint64, rows int64) {
	if r.counted {
		return
	}
	r.counted = true
	count := r.Kernel("gj_sort_count_k%d", r.keyWords())
	// Each side gets at least one block.
	r.Launch(count, int(max(2, min(int64(count.Blocks*r.SMs), rows/countRows))), sort)
	r.Phase(PhaseHistogram, rows*int64(r.volume.keyBytes))
}

// countRows is the minimum number of rows per block of the histogram kernel.
const countRows = 8192

// passKernel returns the kernel for a pass over the given rows and the widest
// value's bytes.
func (r *smjRun) passKernel(rows int64, widest int) *driver.Kernel {
	wide := 4
	if widest > 4 || r.volume.keyBytes > 4 {
		wide = 8
	}
	many := r.Kernel("gj_sort_pass_k%d_%d_many", r.keyWords(), wide)
	if rows < int64(2*r.SMs*many.Rows) {
		return r.Kernel("gj_sort_pass_k%d_%d_few", r.keyWords(), wide)
	}
	return many
}

func (r *smjRun) keyWords() int { return r.volume.keyBytes / 4 }

func mergeTiles(rows int64, of int) int64 { return (rows + int64(of) - 1) / int64(max(of, 1)) }
