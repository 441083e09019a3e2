package mirror

import (
	"cmp"
	"fmt"
	"slices"
)

// finish swaps the new segment in, or leaves that to the end of the open transaction, if that has
// changed the table.
func (s *Server) finish(w *rewriting) {
	s.writing.Lock()
	defer s.writing.Unlock()
	s.rewritten = w
	if !s.open || !w.rows.undo.open {
		s.swap()
	}
}

// swap swaps a new segment in, if there is one. The caller holds writing, and no open transaction
// has changed the table.
func (s *Server) swap() {
	w := s.rewritten
	if w == nil {
		return
	}
	s.rewritten = nil
	s.wake() // there may be more to rewrite
	if w.table.rows != w.rows || w.rows.index != w.index || !w.current() {
		s.mu.Lock()
		defer s.mu.Unlock()
		w.release(true)
		return
	}
	if err := w.swap(s); err != nil {
		_ = s.fail(w.table, err) // its state says it
	}
}

// current reports whether the sources are still parts of the table.
func (w *rewriting) current() bool {
	for i := range w.sources {
		s := w.sources[i].segment
		if w.rows.segments[s.number] != s || s.until != alive || s.shown != w.sources[i].storage {
			return false
		}
	}
	return true
}

// giveUp ends a rewriting for which there was no memory.
func (w *rewriting) giveUp() {
	s := w.table.server
	s.mu.Lock()
	defer s.mu.Unlock()
	w.release(true)
}

// release ends the hold on the sources, and gives the new storage back. The caller holds mu.
func (w *rewriting) release(store bool) {
	for i := range w.sources {
		w.rows.unref(w.sources[i].storage)
	}
	if store && w.store != nil {
		w.rows.arena.free(w.store.spans)
	}
}

// swap replaces the sources. Deletions since the copy are carried over.
func (w *rewriting) swap(s *Server) error {
	r := w.rows
	var to *segment
	if w.live > 0 {
		number, err := r.number()
		if err != nil {
			s.mu.Lock()
			defer s.mu.Unlock()
			w.release(true)
			return err
		}
		to = &segment{number: number, until: alive, store: w.store, rows: w.live, sealed: true}
		to.runs = []run{{0, w.live}}
		r.segments[number] = to
		r.besides(segmentBytes)
	}
	deleted := w.carry(to)
	if err := w.renumber(to, deleted); err != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		w.release(false) // the new segment is a part of the table, which fails
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if to != nil {
		r.show(to)
		r.besides(int64(len(to.deaths))*deathBytes + int64(8*len(to.dead)))
	}
	r.exchange(w.sources, to)
	w.release(false)
	return nil
}

// carry gives the new segment the deletions that the sources have got since the copy began, and
// returns which of its rows they are.
func (w *rewriting) carry(to *segment) []uint64 {
	deleted := make([]uint64, (w.live+63)/64)
	base := 0
	for i := range w.sources {
		src := &w.sources[i]
		ranks := ranksOf(src.live)
		place := func(row int) int {
			return base + ranks[row/64] + count([]uint64{src.live[row/64] & (1<<(row%64) - 1)})
		}
		for _, d := range src.segment.deaths {
			row := place(int(d.row))
			to.deaths = append(to.deaths, death{d.commit, uint16(row)})
			deleted[row/64] |= 1 << (row % 64)
		}
		for word, now := range src.segment.dead {
			since := now & src.live[word]
			for at := next([]uint64{since}, 0, true); at < 64; at = next([]uint64{since}, at+1, true) {
				row := place(64*word + at)
				if to.dead == nil {
					to.dead = make([]uint64, len(deleted))
				}
				to.dead[row/64] |= 1 << (row % 64)
				deleted[row/64] |= 1 << (row % 64)
				to.gone++
			}
		}
		base += src.count
	}
	if to != nil {
		slices.SortStableFunc(to.deaths, func(a, b death) int { return cmp.Compare(a.commit, b.commit) })
	}
	return deleted
}

// ranksOf returns how many bits are set before each word of a bitmap.
func ranksOf(bitmap []uint64) []int {
	out := make([]int, len(bitmap))
	n := 0
	for i, w := range bitmap {
		out[i] = n
		n += count([]uint64{w})
	}
	return out
}

// renumber gives the index the new numbers of the rows that are not deleted.
func (w *rewriting) renumber(to *segment, deleted []uint64) error {
	row := 0
	for i := range w.sources {
		src := &w.sources[i]
		for _, c := range src.cuts {
			for at := c.first; at < c.first+c.rows; at++ {
				is := deleted[row/64]>>(row%64)&1 != 0
				if !is && !w.index.replace(w.hashes[row], src.segment.number<<segmentBits|uint32(at), to.number<<segmentBits|uint32(row)) {
					return fmt.Errorf("%w: a row is not in the index", ErrInconsistent)
				}
				row++
			}
		}
	}
	return nil
}

// exchange publishes a segment in place of others.
func (r *rows) exchange(sources []source, to *segment) {
	gone := func(s *segment) bool {
		return slices.ContainsFunc(sources, func(o source) bool { return o.segment == s })
	}
	r.published.segments = slices.DeleteFunc(r.published.segments, gone)
	for i := range sources {
		r.forget(sources[i].segment)
	}
	if to != nil {
		r.published.segments = append(r.published.segments, to)
	}
}
