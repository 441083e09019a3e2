package kept

import (
	"context"
	"time"

	"gpujoin/joincore"
)

// copying is the work of keeping what one lease has captured of one chunk.
type copying struct {
	table   *table
	lease   *Lease // that has captured it
	columns []int  // positions in the table of the columns of the batches
	chunk   int
	parts   []part
	batches []*batch // each has one user for this
	vm      proof    // what the capture proves, if its blocks are kept
	now     time.Time

	blocks int               // of the chunk, as far as anything is known of them
	order  []int             // position in parts of each block, plus one
	all    *layout           // of all parts
	broken map[int]*blockSet // by column: blocks that have a chained value
	types  []joincore.Column // of the columns
	builds []*build
}

// part is a captured block.
type part struct {
	batch *batch
	index int
}

func (p *part) block() *captured { return &p.batch.blocks[p.index] }

// build is the copying of one column.
type build struct {
	chunk  *chunk
	column int    // position in the table
	old    *piece // whose place it takes, held; nil: there is none
	layout *layout
	runs   []run
	shape  shape
	piece  *piece // held
	failed bool
}

// Work copies what has been captured until ctx is done. The copying takes no part in answering
// the query that captured it.
func (s *Store) Work(ctx context.Context) {
	for ctx.Err() == nil {
		if s.step() {
			continue
		}
		select {
		case <-ctx.Done():
		case <-s.waiting:
		}
	}
}

func (s *Store) wake() {
	select {
	case s.waiting <- struct{}{}:
	default:
	}
}

// Drain copies all that has been captured so far.
func (s *Store) Drain() {
	for s.step() {
	}
}

// step copies one chunk, or, if there is none, moves what is kept together. It reports whether
// there was anything to do.
func (s *Store) step() bool {
	s.work.Lock()
	defer s.work.Unlock()
	s.mu.Lock()
	if dropped := s.dropped; len(dropped) > 0 {
		s.dropped = nil
		s.mu.Unlock()
		for _, b := range dropped {
			b.release()
		}
		return true
	}
	if len(s.pending) == 0 {
		s.pending = nil
		s.mu.Unlock()
		return s.tidy()
	}
	w := s.pending[0]
	s.pending = s.pending[1:]
	s.copying = w
	for _, c := range w.columns {
		w.types = append(w.types, w.table.columns[c].Physical)
	}
	s.mu.Unlock()

	w.prepare()
	s.mu.Lock()
	s.plan(w)
	s.mu.Unlock()
	for _, b := range w.builds {
		b.failed = fill(b.shape.column, &b.piece.vector, b.runs) != nil
	}
	s.mu.Lock()
	s.publish(w)
	s.copying = nil
	s.mu.Unlock()
	for _, b := range w.batches {
		b.release()
	}
	return true
}

// prepare reads what the plan needs from the batches.
func (w *copying) prepare() {
	w.order = make([]int, ChunkBlocks)
	for i := range w.parts {
		_, at := place(w.parts[i].block().number)
		w.blocks = max(w.blocks, at+1)
		w.order[at] = i + 1
	}
	w.all = newLayout(w.blocks)
	for i := range w.parts {
		b := w.parts[i].block()
		_, at := place(b.number)
		w.all.set(at, b.lsn, int(b.rows))
	}
	w.broken = map[int]*blockSet{}
	for i, c := range w.types {
		if c.Kind != joincore.Varlena {
			continue
		}
		var broken blockSet
		w.all.have.each(func(at int) {
			r := w.captured(i, at)
			if r.hasChained() {
				broken.add(at)
			}
		})
		w.broken[i] = &broken
	}
}

// captured returns the captured rows of a column of a block.
func (w *copying) captured(column, at int) run {
	p := &w.parts[w.order[at]-1]
	b := p.block()
	return readRun(w.types[column], &p.batch.segment.Columns[column], int(b.first), int(b.rows), false)
}
