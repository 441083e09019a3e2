package source

import (
	"context"
	"sync"
	"time"

	"github.com/jackc/pglogrepl"
	"github.com/jackc/pgx/v5/pgconn"
)

// The sizes of the headers of WAL pages, the first of a segment and others:
// SizeOfXLogLongPHD and SizeOfXLogShortPHD of access/xlog_internal.h.
const (
	longHeader  = 40
	shortHeader = 24
)

// askTime bounds one question.
const askTime = 5 * time.Second

// asker asks the source for its position. Callers that wait at the same time share a
// question that is asked after the last of them has come: the answer is not older than any
// caller's beginning. It has a connection of its own, so that nothing queues before it.
type asker struct {
	connect func(context.Context) (*pgconn.PgConn, error)
	ended   context.Context // no question outlives it

	mu      sync.Mutex
	current *question // being asked
	next    *question // asked when current is answered; callers may join
	conn    *pgconn.PgConn
	facts   Facts
}

// setFacts tells the sizes of the source's WAL.
func (a *asker) setFacts(f Facts) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.facts = f
}

// question is one question for any number of callers.
type question struct {
	done chan struct{}
	at   LSN
	err  error
}

// latest returns a position such that everything committed before the call is below it.
func (a *asker) latest(ctx context.Context) (LSN, error) {
	a.mu.Lock()
	q := a.next
	if q == nil {
		q = &question{done: make(chan struct{})}
		a.next = q
		if a.current == nil {
			a.begin()
		}
	}
	a.mu.Unlock()
	select {
	case <-q.done:
		return q.at, q.err
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}

// begin asks the next question. The caller holds the lock.
func (a *asker) begin() {
	q := a.next
	a.current, a.next = q, nil
	go func() {
		q.at, q.err = a.ask()
		close(q.done)
		a.mu.Lock()
		defer a.mu.Unlock()
		a.current = nil
		if a.next != nil {
			a.begin()
		}
	}()
}

// ask asks the source, over a new connection if that of the last question is broken. Only
// one call runs at a time.
func (a *asker) ask() (LSN, error) {
	ctx, cancel := context.WithTimeout(a.ended, askTime)
	defer cancel()
	used := a.conn != nil
	at, err := a.askOnce(ctx)
	if err != nil && used && ctx.Err() == nil {
		at, err = a.askOnce(ctx)
	}
	if err != nil {
		return 0, translate("asking for the source's position", err)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.facts.endOfRecord(at), nil
}

func (a *asker) askOnce(ctx context.Context) (LSN, error) {
	if a.conn == nil {
		conn, err := a.connect(ctx)
		if err != nil {
			return 0, err
		}
		a.conn = conn
	}
	results, err := a.conn.Exec(ctx, "select pg_catalog.pg_current_wal_insert_lsn()").ReadAll()
	if err == nil && (len(results) != 1 || len(results[0].Rows) != 1) {
		err = errStream.because("no position")
	}
	var at pglogrepl.LSN
	if err == nil {
		at, err = pglogrepl.ParseLSN(string(results[0].Rows[0][0]))
	}
	if err != nil {
		hangUp(a.conn)
		a.conn = nil
	}
	return LSN(at), err
}

// close ends the connection, when ended is done.
func (a *asker) close() {
	a.mu.Lock()
	last := a.current
	a.mu.Unlock()
	if last != nil {
		<-last.done
	}
	if a.conn != nil {
		hangUp(a.conn)
	}
}

// endOfRecord returns where the last record before an insert position ends. At the
// beginning of a page these differ by the page's header, which nothing sends until the
// next record is written.
func (f Facts) endOfRecord(at LSN) LSN {
	switch {
	case f.WALFile > 0 && at%f.WALFile == longHeader:
		return at - longHeader
	case f.WALBlock > 0 && at%f.WALBlock == shortHeader:
		return at - shortHeader
	}
	return at
}

// flushPause is how long a position is waited for until somebody looks whether the source has
// written it.
const flushPause = 20 * time.Millisecond

// waitFor waits for a position. The source sends WAL that it has written to its disk; what
// follows the last commit, as records of a page that a query has tidied up, it may keep for
// many seconds.
func (s *Session) waitFor(ctx context.Context, at LSN) error {
	for pause := flushPause; ; pause = 10 * flushPause {
		bounded, cancel := context.WithTimeout(ctx, pause)
		err := s.positions.waitFor(bounded, at)
		cancel()
		if err == nil || ctx.Err() != nil {
			return err
		}
		s.flush(at)
	}
}

// flush makes the source write its WAL up to a position, unless it has: a transaction with an
// empty message, which nobody reads, is committed there. It returns at once.
func (s *Session) flush(at LSN) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.flushing || !s.live {
		return
	}
	s.flushing = true
	go func() {
		ctx, cancel := context.WithTimeout(s.ctx, askTime)
		defer cancel()
		_, err := s.server.pool.Exec(ctx, `select pg_catalog.set_config('synchronous_commit', 'local', true), pg_catalog.pg_logical_emit_message(true, 'gpujoin', '')
			where pg_catalog.pg_current_wal_flush_lsn() < $1::text::pg_lsn`, pglogrepl.LSN(at).String())
		if err != nil {
			s.log.Debug("the source could not be made to write its WAL", "error", translate("writing WAL", err))
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.flushing = false
	}()
}
