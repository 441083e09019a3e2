package mirror

import (
	"errors"
	"fmt"
)

// A segment begins with a capacity of firstRows, or of a small part of the rows of its table.
const (
	firstRows = 64
	freeShare = 32
)

// makeRoom makes the tail have room for one more row that needs r.needs of its heaps.
func (r *rows) makeRoom() error {
	for {
		s := r.tail
		if s == nil {
			return r.begin()
		}
		if s.rows < s.store.capacity && r.heapsSuffice(s.store) {
			return nil
		}
		if s.rows == r.most || r.heapExceeds(s.store) {
			if s.rows == 0 {
				return r.tooLong()
			}
			if err := r.seal(s); err != nil {
				return err
			}
			continue
		}
		if err := r.grow(s, s.rows+1); err != nil {
			return err
		}
	}
}

func (r *rows) heapsSuffice(st *storage) bool {
	for _, i := range r.variable {
		if l := &st.lanes[i]; l.used+r.needs[i] > len(l.heap) {
			return false
		}
	}
	return true
}

// heapExceeds reports whether the row needs more than any heap can have.
func (r *rows) heapExceeds(st *storage) bool {
	for _, i := range r.variable {
		if st.lanes[i].used+r.needs[i] > heapLimit(r.arena.size) {
			return true
		}
	}
	return false
}

func (r *rows) tooLong() error {
	for _, i := range r.variable {
		if most := heapLimit(r.arena.size); r.needs[i] > most {
			return tooLong(r.needs[i], most)
		}
	}
	return errors.New("an empty segment has no room for a row") // not reached: mostRows is 8 at least
}

// begin makes a new tail. Its capacity grows with the table, so that what is not used of it is
// a small part of the table.
func (r *rows) begin() error {
	number, err := r.number()
	if err != nil {
		return err
	}
	s := &segment{number: number, until: alive}
	if err := r.grow(s, max(firstRows, r.total/freeShare)); err != nil {
		r.unused = append(r.unused, number)
		return err
	}
	r.segments[number] = s
	r.besides(segmentBytes)
	r.tail = s
	return nil
}

// number returns a free number of a segment.
func (r *rows) number() (uint32, error) {
	if n := len(r.unused); n > 0 {
		number := r.unused[n-1]
		r.unused = r.unused[:n-1]
		return number, nil
	}
	n := len(r.segments)
	// The last number would give rows the numbers of empty slots of the index.
	if n == segmentRows-1 {
		return 0, fmt.Errorf("%w: a table of more than %d segments", ErrTooLong, n)
	}
	r.segments = append(r.segments, nil)
	return uint32(n), nil
}

// grow gives a tail twice as much memory, at least that for some rows, and for the heaps as much
// as the rows so far suggest. Readers keep what they have.
func (r *rows) grow(s *segment, least int) error {
	z := sizes{heaps: make([]int, len(r.columns)), nulls: r.nullable}
	z.rows = min(alignUp(max(least, 2*s.rows), 8), r.most)
	if s.store != nil && s.rows < s.store.capacity {
		z.rows = s.store.capacity // only a heap is full
	}
	for _, i := range r.variable {
		need, width := r.needs[i], r.widths[i]
		if s.store != nil {
			need += s.store.lanes[i].used
			width = float64(need) / float64(s.rows+1)
		}
		want := int(width*float64(z.rows)*1.03) + 64
		if s.store != nil && need > len(s.store.lanes[i].heap) {
			want = max(want, need+need/4)
		}
		z.heaps[i] = min(max(want, need), heapLimit(r.arena.size))
		if z.heaps[i] < need {
			return tooLong(r.needs[i], heapLimit(r.arena.size))
		}
	}
	st, err := newStorage(r.arena, r.columns, z)
	if err != nil {
		return err
	}
	if s.store != nil {
		st.copyFrom(s.store, r.columns, s.rows)
	}
	r.move(s, st)
	return nil
}

// move gives a segment another storage. If nobody sees the one before, it goes back.
func (r *rows) move(s *segment, to *storage) {
	if s.store != nil && s.store != s.shown {
		r.arena.free(s.store.spans)
	}
	s.store = to
}

// seal ends a segment: its rows move to memory of their size.
func (r *rows) seal(s *segment) error {
	z := sizes{rows: s.rows, heaps: make([]int, len(r.columns)), nulls: make([]bool, len(r.columns))}
	for i := range r.columns {
		l := &s.store.lanes[i]
		z.heaps[i], z.nulls[i] = l.used, l.nulls
		r.widths[i] = float64(l.used) / float64(max(s.rows, 1))
	}
	st, err := newStorage(r.arena, r.columns, z)
	if err != nil {
		return err
	}
	st.copyFrom(s.store, r.columns, s.rows)
	st.seal(r.columns)
	r.move(s, st)
	r.touch(s)
	s.sealed = true
	r.tail = nil
	return nil
}
