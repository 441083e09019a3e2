package mirror

import (
	"encoding/binary"
	"math/bits"

	"gpujoin/joincore"
	"gpujoin/sidecar/bitmap"
)

// cut is consecutive rows.
type cut struct{ first, rows int }

// live returns a bitmap of the rows of a part that are not deleted.
func (p *part) live() []uint64 {
	out := make([]uint64, (p.rows+63)/64)
	n := copy(out, p.dead)
	for i := range n {
		out[i] = ^out[i]
	}
	for i := n; i < len(out); i++ {
		out[i] = ^uint64(0)
	}
	for _, d := range p.deaths {
		if int(d.row) < p.rows {
			out[d.row/64] &^= 1 << (d.row % 64)
		}
	}
	if tail := p.rows % 64; tail > 0 {
		out[len(out)-1] &= 1<<tail - 1
	}
	return out
}

// cutsOf returns the runs of ones of a bitmap of n bits, and the number of ones. Bits behind n
// are 0.
func cutsOf(live []uint64, n int) (cuts []cut, rows int) {
	for at := next(live, 0, true); at < n; {
		end := min(next(live, at, false), n)
		cuts = append(cuts, cut{at, end - at})
		rows += end - at
		at = next(live, end, true)
	}
	return cuts, rows
}

// next returns the first bit from one on that is set, or not; if there is none, one behind all.
func next(bitmap []uint64, from int, set bool) int {
	for i := from / 64; i < len(bitmap); i++ {
		w := bitmap[i]
		if !set {
			w = ^w
		}
		if i == from/64 {
			w &= ^uint64(0) << (from % 64)
		}
		if w != 0 {
			return 64*i + bits.TrailingZeros64(w)
		}
	}
	return 64 * len(bitmap)
}

// gather copies cuts of a lane's rows.
type gather struct {
	column joincore.Column
	from   *lane
	bits   []byte // the bitmap of the lane's rows; nil: no NULLs
	cuts   []cut
	rows   int // of all cuts
}

// valueBytes returns the bytes of the values, or of the offsets.
func (g *gather) valueBytes() int {
	if g.column.Kind == joincore.Varlena {
		return 4 * (g.rows + 1)
	}
	return g.rows * g.column.Width
}

// heapBytes returns the bytes of values of variable length.
func (g *gather) heapBytes() (n int) {
	if g.column.Kind != joincore.Varlena {
		return 0
	}
	for _, c := range g.cuts {
		n += int(g.offset(c.first+c.rows) - g.offset(c.first))
	}
	return n
}

func (g *gather) offset(row int) uint32 { return binary.LittleEndian.Uint32(g.from.values[4*row:]) }

// copy copies the rows to a vector, behind some rows and some bytes of its heap. It returns how many
// bytes of the heap are in use then.
func (g *gather) copy(to *joincore.Vector, row, heap int) int {
	if g.column.Kind == joincore.Varlena && row == 0 {
		binary.LittleEndian.PutUint32(to.Values, 0)
	}
	for _, c := range g.cuts {
		end := c.first + c.rows
		if g.column.Kind == joincore.Varlena {
			begin := g.offset(c.first)
			shift := uint32(heap) - begin
			heap += copy(to.Heap[heap:], g.from.heap[begin:g.offset(end)])
			from, offsets := g.from.values[4*(c.first+1):4*(end+1)], to.Values[4*(row+1):4*(row+1+c.rows)]
			for i := 0; i < len(from); i += 4 {
				binary.LittleEndian.PutUint32(offsets[i:], binary.LittleEndian.Uint32(from[i:])+shift)
			}
		} else {
			w := g.column.Width
			copy(to.Values[w*row:], g.from.values[w*c.first:w*end])
		}
		switch {
		case to.Validity == nil:
		case g.bits == nil:
			bitmap.Set(to.Validity, row, c.rows)
		default:
			bitmap.Copy(to.Validity, row, g.bits, c.first, c.rows)
		}
		row += c.rows
	}
	return heap
}
