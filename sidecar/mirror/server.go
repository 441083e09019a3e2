package mirror

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"
)

// Server is the mirrors of one server's tables, as one role of it may see them. The main stream's
// calls (Transact, Change, Commit, Abort, Received) come from one goroutine; all others are safe
// for concurrent use.
type Server struct {
	account *account
	arena   *arena

	// writing is held by each call of the stream and while a rewritten part of a table is
	// swapped in. It is locked before mu.
	writing   sync.Mutex
	open      bool     // a transaction
	skip      bool     // it was applied before
	final     LSN      // of the open transaction
	changed   []*table // by it
	rewritten *rewriting

	mu       sync.Mutex
	tables   map[uint32]*table // also guarded by writing
	joining  []*table
	ending   []*table // with truncated segments that a pin may see
	commit   uint64   // the newest commit's number
	position LSN      // everything committed up to it is published
	at       time.Time
	oldest   *Pin // the pins, by commit
	newest   *Pin
	moved    chan struct{} // closed when the position moves; nil: nobody waits

	garbage chan struct{} // wakes Work
	deleted int           // rows since Work has looked; guarded by writing
	blocked bool          // a pin keeps Work from something
}

// table is a table and its mirror.
type table struct {
	Table
	state  State
	server *Server
	rows   *rows  // nil: failed
	joined LSN    // it has all transactions whose commit lies before
	from   uint64 // the first commit whose pins see it, once it is ready
	last   uint64 // the last commit that has changed it
	err    error  // why it has failed
}

// New returns a server without tables.
func New(m Memory, o Options) *Server {
	a := &account{limit: o.Limit, held: o.Held}
	s := &Server{account: a, arena: newArena(m, a), tables: map[uint32]*table{}, garbage: make(chan struct{}, 1)}
	s.arena.gone, s.arena.reclaim = o.Gone, s.dropForms
	return s
}

// TableError says that the mirror of a table has failed. The others go on.
type TableError struct {
	Table uint32 // OID
	Name  string
	Err   error
}

func (e *TableError) Error() string { return fmt.Sprintf("mirror of %s: %v", e.Name, e.Err) }

func (e *TableError) Unwrap() error { return e.Err }

// Transact begins a transaction of the main stream. final is the LSN of its commit's record. A
// transaction that was published before is skipped: a stream that begins again repeats some. A
// caller for whom none repeats, and who has tables join only between transactions, may leave it
// out: the first change begins a transaction then. The error wraps ErrOrder.
func (s *Server) Transact(final LSN) error {
	s.writing.Lock()
	defer s.writing.Unlock()
	if s.open {
		return fmt.Errorf("%w: a transaction begins in another", ErrOrder)
	}
	s.open, s.final = true, final
	s.skip = final < s.Position()
	return nil
}

// noFinal is where a transaction commits of which nothing is known: behind everything.
const noFinal = ^LSN(0)

// Change applies a change of the open transaction. It copies what it keeps of the change. If the
// mirror of the table fails, it returns a *TableError, and later changes of the table are
// skipped, as those of tables that load are. The error wraps ErrOrder if the table is not known.
func (s *Server) Change(c *Change) error {
	s.writing.Lock()
	defer s.writing.Unlock()
	if !s.open {
		s.open, s.skip, s.final = true, false, noFinal
	}
	t := s.tables[c.Table]
	switch {
	case t == nil:
		return fmt.Errorf("%w: a change of table %d, which is not known", ErrOrder, c.Table)
	case s.skip || t.state == StateLoading || t.state == StateFailed || s.final < t.joined:
		return nil
	}
	if !t.rows.undo.open {
		s.changed = append(s.changed, t)
	}
	if err := t.rows.apply(c); err != nil {
		return s.fail(t, err)
	}
	return nil
}

// Commit publishes the open transaction, which ends at an LSN of the source and was committed
// there at a time. Without one, it moves the position. The error wraps ErrOrder.
func (s *Server) Commit(end LSN, at time.Time) error {
	s.writing.Lock()
	defer s.writing.Unlock()
	if s.open && s.final != noFinal && end <= s.final {
		return fmt.Errorf("%w: a commit that ends before it begins", ErrOrder)
	}
	skip := s.open && s.skip
	if s.open = false; skip {
		return nil
	}
	s.mu.Lock()
	s.commit++
	h := s.horizon()
	for _, t := range s.changed {
		if t.rows != nil {
			s.deleted += t.rows.publish(s.commit, h)
			t.last = s.commit
			if t.rows.published.ended > 0 && !slices.Contains(s.ending, t) {
				s.ending = append(s.ending, t)
			}
		}
	}
	s.at = at
	s.advance(end)
	s.mu.Unlock()
	s.endTransaction()
	if s.deleted >= wakeAfter {
		s.deleted = 0
		s.wake()
	}
	return nil
}

// wakeAfter is how many deleted rows are worth a look at all segments.
const wakeAfter = 4096

// Abort drops the open transaction, if there is one: the stream has been cut off, and repeats it.
func (s *Server) Abort() {
	s.writing.Lock()
	defer s.writing.Unlock()
	for _, t := range s.changed {
		if t.rows == nil {
			continue
		}
		if err := t.rows.rollback(); err != nil {
			_ = s.fail(t, err) // the table's state says it
		}
	}
	s.open = false
	s.endTransaction()
}

// endTransaction forgets the open transaction, which has been published or rolled back.
func (s *Server) endTransaction() {
	clear(s.changed)
	s.changed = s.changed[:0]
	s.swap()
}

// Received says that the stream has delivered everything up to an LSN: that of a keepalive.
func (s *Server) Received(walEnd LSN) {
	s.writing.Lock()
	defer s.writing.Unlock()
	if s.open {
		return // it says nothing of the transaction
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.advance(walEnd)
}

// advance moves the position, and lets the tables join that wait for it. The caller holds mu
// and writing.
func (s *Server) advance(to LSN) {
	oldest := s.horizon().oldest
	s.ending = slices.DeleteFunc(s.ending, func(t *table) bool {
		if t.rows != nil {
			t.rows.retire(oldest)
		}
		return t.rows == nil || t.rows.published.ended == 0
	})
	if to <= s.position {
		return
	}
	s.position = to
	waiting := s.joining[:0]
	for _, t := range s.joining {
		if t.state == StateJoining && t.joined <= to {
			t.state, t.from, t.last = StateReady, s.commit, s.commit
		} else if t.state == StateJoining {
			waiting = append(waiting, t)
		}
	}
	s.joining = waiting
	if s.moved != nil {
		close(s.moved)
		s.moved = nil
	}
}

// fail gives up the mirror of a table. The caller holds writing.
func (s *Server) fail(t *table, why error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	t.state, t.err = StateFailed, why
	if t.rows != nil {
		t.rows.release()
		t.rows = nil
	}
	return &TableError{t.OID, t.Schema + "." + t.Name, why}
}

// Reset gives up all mirrors, but those of tables that load, and the open transaction: the stream
// begins anew, at a position that has nothing to do with this one.
func (s *Server) Reset(why error) {
	s.writing.Lock()
	defer s.writing.Unlock()
	for _, t := range s.tables {
		if t.state == StateJoining || t.state == StateReady {
			_ = s.fail(t, why) // its state says it
		}
	}
	s.open = false
	s.endTransaction()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.position = 0
}

// Position returns the position in the source's order of commits that new pins have.
func (s *Server) Position() LSN {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.position
}

// WaitFor waits until the position is at an LSN or behind it. The error is that of ctx.
func (s *Server) WaitFor(ctx context.Context, lsn LSN) error {
	for {
		s.mu.Lock()
		if s.position >= lsn {
			s.mu.Unlock()
			return nil
		}
		if s.moved == nil {
			s.moved = make(chan struct{})
		}
		moved := s.moved
		s.mu.Unlock()
		select {
		case <-moved:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (s *Server) wake() {
	select {
	case s.garbage <- struct{}{}:
	default:
	}
}
