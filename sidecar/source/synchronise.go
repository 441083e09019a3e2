package source

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// rounds is how often the synchronisation stream runs after the main stream before that one
// has to wait: by then little is left.
const rounds = 3

// syncApplier applies a synchronisation stream to the tables that load.
type syncApplier struct {
	session *Session
	tables  map[uint32]*newTable
}

// synchronise applies the slot's stream up to a position of the main stream, at which that
// one waits, and lets the tables join there. As in PostgreSQL's own synchronisation of
// tables (src/backend/replication/logical/tablesync.c), the transactions that commit before
// that position come from the slot's stream, the others from the main one.
func (s *Session) synchronise(ctx context.Context, m *stream, conn *pgconn.PgConn, sl slot, tables []*newTable) error {
	f, err := openFeed(ctx, conn, sl, sl.start, s.options)
	if err != nil {
		hangUp(conn)
		return err
	}
	defer f.close()
	a := &syncApplier{session: s, tables: map[uint32]*newTable{}}
	for _, t := range tables {
		if t.reason == nil {
			a.tables[t.table.OID] = t
		}
	}
	follow := newFollower(f.queue, a, sl.start)
	// The rows are those of the slot's position: the tables cannot join before it.
	if err := s.positions.waitFor(ctx, sl.start); err != nil {
		return err
	}
	for range rounds {
		if err := follow.until(ctx, s.positions.at(), f.confirm); err != nil {
			return err
		}
	}
	var failure error
	err = m.main.between(ctx, func(at LSN) {
		if failure = follow.until(ctx, at, f.confirm); failure != nil {
			return
		}
		for _, t := range a.tables {
			if s.join(t, at) {
				m.main.joined[t.table.OID] = joinedTable{t.table, t.print}
			}
		}
	})
	return errors.Join(err, failure)
}

// join joins a table, unless it is no longer wanted.
func (s *Session) join(t *newTable, at LSN) bool {
	if !s.wanted(t.table.Name) {
		t.abandon(errUnwanted)
		return false
	}
	if err := t.loading.Join(at); err != nil {
		t.reason = err
		s.failed(t.table.Name, err)
		return false
	}
	s.update(func() {
		if e := s.entries[t.table.Name]; e != nil {
			e.ready()
		}
	})
	return true
}

// until applies frames until the position has reached limit.
func (f *follower) until(ctx context.Context, limit LSN, confirm func(LSN)) error {
	for f.position < limit || f.open {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		moved, err := f.step(limit)
		if err != nil {
			return err
		}
		if moved {
			if !f.open {
				confirm(f.position)
			}
			continue
		}
		if f.position >= limit && !f.open {
			return nil
		}
		select {
		case <-ctx.Done():
		case <-f.frames.queue.ready:
		}
	}
	return nil
}

func (a *syncApplier) lookup(oid uint32) *Table {
	if t := a.tables[oid]; t != nil {
		return t.table
	}
	return nil
}

func (a *syncApplier) change(c *Change) error {
	if err := a.tables[c.Table.OID].loading.Change(c); err != nil {
		a.fail(c.Table, err)
	}
	return nil
}

func (a *syncApplier) commit(uint32, LSN, time.Time) error { return nil }

func (a *syncApplier) received(LSN) {}

func (a *syncApplier) fail(t *Table, reason error) {
	n := a.tables[t.OID]
	delete(a.tables, t.OID)
	a.session.drop(n, reason)
}
