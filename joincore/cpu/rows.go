package cpu

import (
	"fmt"
	"slices"

	"gpujoin/joincore"
	"gpujoin/joincore/device"
)

// rows is a chunk of rows: positions in each space that contributes.
type rows struct {
	n     int
	slots []slot

	own      [][]uint32   // position vectors that this chunk owns, one per slot
	base     map[int]slot // positions in base relations, reached by row id
	baseOwn  map[int][]uint32
	capacity int
}

// slot holds the positions of a chunk's rows in one space.
type slot struct {
	space  *space
	pos    []uint32 // nil: first, first+1, ...
	first  uint32
	one    bool // all positions are in the first position's segment
	rising bool // and rise: those of rows that are next to each other, without some
	null   bool // positions may contain none
}

func newRows(capacity int) *rows {
	return &rows{capacity: capacity, base: map[int]slot{}, baseOwn: map[int][]uint32{}}
}

func (r *rows) reset(n int) {
	r.n = n
	r.slots = r.slots[:0]
	clear(r.base)
}

// vector returns the position vector that belongs to slot i.
func (r *rows) vector(i int) []uint32 {
	for len(r.own) <= i {
		r.own = append(r.own, make([]uint32, r.capacity+pad))
	}
	return r.own[i][:r.n]
}

// take makes r the selected rows of in; sel nil: its first n rows, and r shares in's
// vectors.
func (r *rows) take(in *rows, sel []uint32, n int) {
	r.reset(n)
	for _, s := range in.slots {
		if sel == nil {
			if s.pos != nil {
				s.pos = s.pos[:n]
			}
			r.slots = append(r.slots, s)
			continue
		}
		pos := r.vector(len(r.slots))
		sel := sel[:len(pos)]
		if s.pos == nil {
			for i := range pos {
				pos[i] = s.first + sel[i]
			}
		} else {
			from := s.pos
			for i := range pos {
				pos[i] = from[sel[i]]
			}
		}
		s.pos, s.rising = pos, false
		r.slots = append(r.slots, s)
	}
}

// takeMask makes r the n rows of in whose bits are set. sel is scratch.
func (r *rows) takeMask(sel []uint32, in *rows, mask []uint64, n int) {
	if len(in.slots) != 1 || in.slots[0].pos != nil {
		r.take(in, sel[:expand(sel, mask, in.n, 0)], n)
		return
	}
	r.reset(n)
	s := in.slots[0]
	s.pos, s.rising = r.vector(0), s.one
	expand(s.pos[:cap(s.pos)], mask, in.n, s.first)
	r.slots = append(r.slots, s)
}

// locate returns a column and the rows' positions in it: the column moved with a key
// if there is one, else that of the base relation. A nil column means that no space
// covers the input.
func (r *rows) locate(ref joincore.ColumnRef, inputs []*space) (*column, *slot) {
	for i := range r.slots {
		s := &r.slots[i]
		if s.space.input == ref.Input {
			return s.space.columns[ref.Column], s
		}
		if c := s.space.carried[ref]; c != nil {
			return c, s
		}
	}
	s, ok := r.positionsOf(ref.Input, inputs)
	if !ok {
		return nil, nil
	}
	return s.space.columns[ref.Column], s
}

// positionsOf returns the row ids of an input.
func (r *rows) positionsOf(input int, inputs []*space) (*slot, bool) {
	if s, ok := r.base[input]; ok {
		return &s, true
	}
	for i := range r.slots {
		s := &r.slots[i]
		if s.space.input == input {
			return s, true
		}
		ids := s.space.ids[input]
		if ids == nil {
			if s.space.carries(input) {
				panic(fmt.Sprintf("row numbers of input %d were not moved", input))
			}
			continue
		}
		b := slot{space: inputs[input], null: true}
		if s.pos == nil {
			from := s.first & s.space.mask()
			b.pos = ids.v32[s.segment()][from : int(from)+r.n]
		} else {
			if r.baseOwn[input] == nil {
				r.baseOwn[input] = make([]uint32, r.capacity)
			}
			b.pos = r.baseOwn[input][:r.n]
			fetch(b.pos, ids.v32, s, none)
		}
		b.null = slices.Contains(b.pos, none)
		r.base[input] = b
		return &b, true
	}
	return nil, false
}

// copyIDs writes the row ids of an input, of rows from the given one on.
func (r *rows) copyIDs(dst []uint32, input, from int, inputs []*space) {
	if s, ok := r.positionsOf(input, inputs); ok {
		s.copyTo(dst, from)
		return
	}
	for i := range dst {
		dst[i] = none
	}
}

// copyTo writes the positions of rows from the given one on.
func (s *slot) copyTo(dst []uint32, from int) {
	if s.pos != nil {
		copy(dst, s.pos[from:])
		return
	}
	for i := range dst {
		dst[i] = s.first + uint32(from+i)
	}
}

// carries reports whether columns of an input were moved with the key.
func (s *space) carries(input int) bool {
	for ref := range s.carried {
		if ref.Input == input {
			return true
		}
	}
	return false
}

func (s *space) mask() uint32   { return uint32(1)<<s.shift - 1 }
func (s *slot) segment() uint32 { return s.first >> s.space.shift }

// at returns the segment of row i of the slot and its row in that segment.
func (s *slot) at(i int) (segment, row uint32, ok bool) {
	p := s.first + uint32(i)
	if s.pos != nil {
		p = s.pos[i]
	}
	return p >> s.space.shift, p & s.space.mask(), p != none || !s.null
}

var _ device.Rows = (*rows)(nil)
