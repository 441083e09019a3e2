package kept

import (
	"errors"

	"gpujoin/joincore"
)

// rebuildShare limits how often a chunk is copied as a whole because of a few new blocks. Queries
// capture these again and again until the captures add up to one in rebuildShare of the blocks
// that the chunk has. Copying a block costs about a hundredth of feeding it: so what is fed in
// vain costs about as much as one copy of the chunk, however few the new blocks are and whether
// or not a later query wants them.
const rebuildShare = 64

// plan decides which pieces are made of what has been captured, and takes memory for them.
// The caller holds the lock.
func (s *Store) plan(w *copying) {
	if w.table.forgotten {
		return
	}
	c := w.table.makeChunk(w.chunk)
	var builds []*build
	for i := range w.columns {
		if b := w.merge(c, i, builds); b != nil {
			builds = append(builds, b)
			if b.old != nil {
				s.hold(b.old) // it is read, so it is not to be evicted
			}
		}
	}
	density := s.densityOf(w, builds)
	for i, b := range builds {
		switch err := s.admit(w, b, density); {
		case err == nil:
			w.builds = append(w.builds, b)
		case errors.Is(err, errNoMemory):
			for _, b := range builds[i:] {
				s.refuse(b)
			}
			return
		default:
			s.refuse(b)
		}
	}
}

// densityOf returns the benefit of pieces per byte, of all together: a query that reads these
// columns needs all of them, and in the extents they lie side by side.
func (s *Store) densityOf(w *copying, builds []*build) float64 {
	benefit, bytes := 0.0, int64(1)
	for _, b := range builds {
		benefit += saving(b.layout) * s.weight(w.table.columns[b.column], w.now)
		bytes += b.shape.bytes()
	}
	return benefit / float64(bytes)
}

// admit takes memory for a piece, if it can be had without evicting what is worth more per
// byte than a density.
func (s *Store) admit(w *copying, b *build, density float64) error {
	sp, err := s.allocate(&s.arena, b.shape.bytes(), pieceBytes+b.layout.bytes(), density, w.now)
	switch {
	case errors.Is(err, errNoMemory):
		w.table.last.Reason, w.table.refused = reasonNoMemory, w.now
		s.abandon(w)
		return err
	case err != nil:
		w.table.last.Reason = reasonTooWide
		w.table.columns[b.column].tooWide = true
		return err
	}
	b.piece = s.newPiece(b.layout, b.column, sp)
	b.piece.vector = b.shape.vector(sp.data)
	b.piece.vector.Content = joincore.NewContent()
	return nil
}

// refuse ends a build that has no memory.
func (s *Store) refuse(b *build) {
	s.counters.Refused++
	if b.old != nil {
		s.release(b.old)
	}
}

// merge returns the new piece of a column, without memory: the blocks that the old piece has,
// and the captured ones that are newer. The LSN of a page only grows, so of two versions of a
// block, which queries that overlap may have captured in any order, the one with the greater
// LSN is the newer. nil: there is nothing new, or too little.
func (w *copying) merge(c *chunk, column int, others []*build) *build {
	b := &build{chunk: c, column: w.columns[column], old: c.piece(w.columns[column])}
	fresh := w.all.have
	if broken := w.broken[column]; broken != nil {
		fresh = fresh.without(*broken)
	}
	blocks := w.blocks
	var stays blockSet
	if b.old != nil {
		old := b.old.layout
		fresh.and(old.have).each(func(at int) {
			if old.lsn[at] >= w.all.lsn[at] {
				fresh.drop(at)
			}
		})
		stays = old.have.without(fresh)
		blocks = max(blocks, len(old.lsn))
	}
	n := fresh.count()
	if n == 0 {
		return nil
	}
	if b.old != nil && (n+b.old.vain)*rebuildShare < b.old.layout.have.count() {
		b.old.vain += n // the same few blocks are not fed in vain for ever
		return nil
	}
	l := newLayout(blocks)
	var last *run
	var starts []int32
	if b.old != nil {
		starts = b.old.layout.starts()
	}
	stays.or(fresh).each(func(at int) {
		var r run
		if fresh.has(at) {
			l.set(at, w.all.lsn[at], int(w.all.rows[at]))
			r = w.captured(column, at)
		} else {
			old := b.old.layout
			l.set(at, old.lsn[at], int(old.rows[at]))
			r = readRun(w.types[column], &b.old.vector, int(starts[at]), int(old.rows[at]), true)
		}
		if last == nil || !last.join(r) {
			b.runs = append(b.runs, r)
			last = &b.runs[len(b.runs)-1]
		}
	})
	b.layout = share(c, l, others)
	b.shape = shapeOf(w.types[column], b.runs)
	return b
}

// share returns a layout of the chunk, or of one of its new pieces, that is the same as l; l
// if there is none.
func share(c *chunk, l *layout, others []*build) *layout {
	found := l
	c.layouts(func(o *layout) {
		if o.same(l) {
			found = o
		}
	})
	for _, b := range others {
		if b.layout.same(l) {
			found = b.layout
		}
	}
	return found
}

// abandon drops what the same lease has captured of other chunks: for these there is no memory
// either.
func (s *Store) abandon(w *copying) {
	kept := s.pending[:0]
	for _, o := range s.pending {
		if o.lease == w.lease {
			w.batches = append(w.batches, o.batches...)
			continue
		}
		kept = append(kept, o)
	}
	clear(s.pending[len(kept):])
	s.pending = kept
}

// publish puts the pieces whose copying has succeeded into the directory, and records what the
// capture proves. The caller holds the lock.
func (s *Store) publish(w *copying) {
	for _, b := range w.builds {
		if !b.failed && !w.table.forgotten {
			s.enter(b.chunk, b.piece)
			s.counters.Captured += b.piece.bytes
			if b.old != nil {
				p := &b.old.layout.proof
				b.layout.proof.add(p.vm, p.blocks.and(b.layout.common(b.old.layout)))
			}
		} else {
			s.counters.Refused++
		}
		s.release(b.piece)
		if b.old != nil {
			s.release(b.old)
		}
	}
	if !w.table.forgotten {
		w.table.prove(w.chunk, w.all, w.vm.vm, w.vm.blocks)
	}
}
