package mirror

import (
	"context"
	"hash/maphash"

	"gpujoin/joincore"
)

// rewriting moves the live rows of some segments of a table to a new one. Readers of the old ones
// keep them; the stream goes on meanwhile.
type rewriting struct {
	table   *table
	rows    *rows
	index   *index
	sources []source
	store   *storage // the new segment's; nil: no row is live
	live    int
	hashes  []uint64 // of the new rows' keys
}

// source is a segment that is rewritten.
type source struct {
	segment *segment
	storage *storage
	rows    int
	live    []uint64 // when the rewriting began; later deletions are carried over
	cuts    []cut
	count   int
}

// Segments are rewritten of which more than deadShare of 10 rows are deleted, or which readers have
// copied, because of deleted rows, mostCopies times: that has taken as long as rewriting takes.
const (
	deadShare  = 3
	mostCopies = 4
)

// isGarbage reports whether it pays to rewrite the segment without some of its rows.
func (s *segment) isGarbage(deleted int) bool {
	return 10*deleted > deadShare*s.stored() || deleted > 0 && s.copies.Load() >= mostCopies
}

// Work rewrites what has many deleted rows until ctx is done.
func (s *Server) Work(ctx context.Context) {
	for ctx.Err() == nil {
		if s.Step() {
			continue
		}
		select {
		case <-ctx.Done():
		case <-s.garbage:
		}
	}
}

// Step rewrites some segments of one table, if any have enough deleted rows. It reports whether.
func (s *Server) Step() bool {
	w := s.plan()
	if w == nil {
		return false
	}
	if w.copy() != nil {
		w.giveUp()
		return false
	}
	s.finish(w)
	return true
}

// plan chooses segments.
func (s *Server) plan() *rewriting {
	s.writing.Lock()
	defer s.writing.Unlock()
	if s.rewritten != nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	oldest := s.horizon().oldest
	s.deleted, s.blocked = 0, false
	for _, t := range s.tables {
		if t.state != StateReady {
			continue
		}
		w, blocked := t.rows.planRewriting(oldest)
		s.blocked = s.blocked || blocked
		if w != nil {
			w.table = t
			return w
		}
	}
	return nil
}

// planRewriting chooses segments whose live rows fit one, if any are worth it, and others that are
// small. blocked: a pin is in the way of some.
func (r *rows) planRewriting(oldest uint64) (plan *rewriting, blocked bool) {
	w := &rewriting{rows: r, index: r.index}
	heaps := make([]int, len(r.columns))
	var small []*segment
	for _, s := range r.published.segments {
		switch {
		case !s.sealed || s.cut || s.until != alive:
		case s.isGarbage(s.gone + len(s.deaths)):
			r.besides(s.settle(oldest, 1))
			if s.settled(oldest) && s.isGarbage(s.gone) {
				w.add(s, heaps)
			} else {
				blocked = true
			}
		case s.settled(oldest) && 2*(s.stored()-s.gone) <= r.most:
			small = append(small, s)
		}
	}
	if len(w.sources) == 0 {
		return nil, blocked
	}
	for _, s := range small {
		w.add(s, heaps)
	}
	return w, blocked
}

// add makes a segment a source, if the new one has room for its live rows. heaps are the bytes of
// those so far.
func (w *rewriting) add(s *segment, heaps []int) {
	if w.live+s.stored()-s.gone > w.rows.most {
		return
	}
	p := part{rows: s.stored(), dead: s.dead}
	src := source{segment: s, storage: s.shown, rows: s.stored(), live: p.live()}
	src.cuts, src.count = cutsOf(src.live, src.rows)
	if !w.rows.heapsFit(heaps, &src) {
		return
	}
	s.shown.refs++
	w.live += src.count
	w.sources = append(w.sources, src)
}

// heapsFit reports whether the live values of one more source fit the heaps of a new segment,
// and adds them.
func (r *rows) heapsFit(heaps []int, src *source) bool {
	more := make([]int, len(r.variable))
	for i, column := range r.variable {
		g := src.gather(r.columns, column)
		if more[i] = g.heapBytes(); heaps[column]+more[i] > heapLimit(r.arena.size) {
			return false
		}
	}
	for i, column := range r.variable {
		heaps[column] += more[i]
	}
	return true
}

// copy copies the live rows. No lock is needed: sealed segments do not change.
func (w *rewriting) copy() error {
	if w.live == 0 {
		return nil
	}
	r := w.rows
	z := sizes{rows: w.live, heaps: make([]int, len(r.columns)), nulls: make([]bool, len(r.columns)), spare: true}
	for i := range r.columns {
		for j := range w.sources {
			g := w.sources[j].gather(r.columns, i)
			z.heaps[i] += g.heapBytes()
			z.nulls[i] = z.nulls[i] || g.bits != nil
		}
	}
	st, err := newStorage(r.arena, r.columns, z)
	if err != nil {
		return err
	}
	w.store = st
	for i := range r.columns {
		l, row := &st.lanes[i], 0
		l.nulls = z.nulls[i]
		to := joincore.Vector{Values: l.values, Heap: l.heap, Validity: l.validity}
		for j := range w.sources {
			g := w.sources[j].gather(r.columns, i)
			l.used = g.copy(&to, row, l.used)
			row += g.rows
		}
	}
	st.seal(r.columns)
	w.hashes = make([]uint64, w.live)
	for _, c := range r.key {
		for i := range w.hashes {
			w.hashes[i] = w.hashes[i]*hashFactor + maphash.Bytes(w.index.seed, st.lanes[c].value(r.columns[c], i))
		}
	}
	return nil
}

// gather returns how the live rows of a column are copied.
func (s *source) gather(columns []joincore.Column, column int) gather {
	return gather{columns[column], &s.storage.lanes[column], s.storage.vectors[column].Validity, s.cuts, s.count}
}
