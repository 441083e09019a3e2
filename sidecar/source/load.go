package source

import (
	"context"
	"errors"
	"slices"
	"time"
)

// newTable is a table that loads.
type newTable struct {
	table   *Table
	print   string // of its part of the publication
	loading Loading
	reason  error // it has failed
}

// loadAll loads tables when they are due, until ctx ends.
func (s *Session) loadAll(ctx context.Context, m *stream) {
	for ctx.Err() == nil {
		names, next := s.due(time.Now())
		if len(names) > 0 {
			s.loadTogether(ctx, m, names)
			continue
		}
		wait := time.NewTimer(next)
		select {
		case <-ctx.Done():
		case <-s.wake:
		case <-wait.C:
		}
		wait.Stop()
	}
}

// nudge makes loadAll look for tables that are due.
func (s *Session) nudge() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// due returns the tables to load now, and else the time until the next one is due.
func (s *Session) due(now time.Time) (names []Name, next time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	next = time.Hour
	for name, e := range s.entries {
		if e.state == StateReady {
			continue
		}
		if wait := e.due.Sub(now); wait > 0 {
			next = min(next, wait)
			continue
		}
		names = append(names, name)
	}
	slices.SortFunc(names, compareNames)
	return names, next
}

// loadTogether loads tables: they join the main stream at one position. Each one that
// fails is tried again later; the others go on, unless the connection is lost.
func (s *Session) loadTogether(ctx context.Context, m *stream, names []Name) {
	s.update(func() {
		for _, n := range names {
			if e := s.entries[n]; e != nil {
				e.become(StateLoading)
				e.rows = 0
			}
		}
	})
	began := time.Now()
	// A table that was forgotten and is wanted again may still be there.
	if m.main.between(ctx, func(LSN) { m.main.leave(names) }) != nil {
		return
	}
	tables, err := s.admit(ctx, names)
	if err == nil && len(tables) > 0 {
		own, stop := context.WithCancelCause(ctx)
		if err = s.fill(own, stop, m, tables); err != nil && own.Err() != nil {
			err = context.Cause(own)
		}
		stop(nil)
	}
	if ctx.Err() != nil {
		// The stream has ended: all loads begin again with the next one.
		for _, t := range tables {
			t.abandon(context.Cause(ctx))
		}
		return
	}
	if err != nil {
		// What fails the load fails each table that has not failed by itself.
		var left []Name
		if tables == nil {
			left = names
		}
		for _, t := range tables {
			if t.reason == nil {
				t.abandon(err)
				left = append(left, t.table.Name)
			}
		}
		for _, n := range left {
			s.failed(n, err)
		}
		return
	}
	for _, t := range tables {
		if t.reason == nil {
			s.log.Info("a mirror is ready", "table", t.table.Name.String(), "time", time.Since(began))
		}
	}
}

// admit reads the catalogue, publishes the tables and begins their loads. The tables that
// cannot be mirrored have failed when it returns.
func (s *Session) admit(ctx context.Context, names []Name) ([]*newTable, error) {
	found, err := describe(ctx, s.server.pool, names)
	if err != nil {
		return nil, err
	}
	var can []*Table
	for _, n := range names {
		at := slices.IndexFunc(found, func(t *Table) bool { return t.Name == n })
		switch {
		case at < 0:
			s.failed(n, errNoTable.because("%s", n))
		case found[at].Direct != nil:
			s.failed(n, found[at].Direct)
		default:
			can = append(can, found[at])
		}
	}
	if len(can) == 0 {
		return []*newTable{}, nil
	}
	prints, failed, err := s.server.publish(ctx, s.options.Publication, can)
	if err == nil {
		err = measure(ctx, s.server.pool, can)
	}
	if err != nil {
		for _, t := range can {
			s.failed(t.Name, err)
		}
		return []*newTable{}, nil
	}
	tables := []*newTable{}
	for _, t := range can {
		if failed[t.OID] != nil {
			s.failed(t.Name, failed[t.OID])
			continue
		}
		loading, err := s.target.Begin(t)
		if err != nil {
			s.failed(t.Name, err)
			continue
		}
		tables = append(tables, &newTable{table: t, print: prints[t.OID], loading: loading})
	}
	return tables, nil
}

// abandon ends a table's load without a result.
func (t *newTable) abandon(reason error) {
	if t.reason == nil {
		t.reason = reason
		t.loading.Abandon(reason)
	}
}

// drop fails one table of a load.
func (s *Session) drop(t *newTable, reason error) {
	if t.reason == nil {
		t.abandon(reason)
		s.failed(t.table.Name, reason)
	}
}

// fill copies the tables under the snapshot of a synchronisation slot, applies the slot's
// stream up to the main stream's position, and joins them there.
func (s *Session) fill(ctx context.Context, stop context.CancelCauseFunc, m *stream, tables []*newTable) error {
	conn, err := s.server.replication(ctx)
	if err != nil {
		return err
	}
	sl, err := createSlot(ctx, conn, temporaryName("sync"), true, true, func() { s.explain(tables, errWaiting) })
	s.explain(tables, nil)
	if err != nil {
		hangUp(conn)
		return err
	}
	s.update(func() { s.load = &loadInfo{sl.name, stop} })
	defer s.update(func() { s.load = nil })
	if err := s.copyUnder(ctx, sl, tables); err != nil {
		hangUp(conn)
		return err
	}
	return s.synchronise(ctx, m, conn, sl, tables)
}

// explain says what the loads wait for.
func (s *Session) explain(tables []*newTable, reason error) {
	s.update(func() {
		for _, t := range tables {
			if e := s.entries[t.table.Name]; e != nil && e.state == StateLoading {
				e.reason = reason
			}
		}
	})
}

// copyUnder copies the tables under the slot's snapshot.
func (s *Session) copyUnder(ctx context.Context, sl slot, tables []*newTable) error {
	var list []*Table
	byTable := map[*Table]*newTable{}
	for _, t := range tables {
		list = append(list, t.table)
		byTable[t.table] = t
	}
	work := pieces(list)
	loaders, err := s.server.newLoaders(ctx, min(s.options.Loaders, len(work)), sl.snapshot, list)
	defer func() {
		for _, l := range loaders {
			l.end()
		}
	}()
	if err != nil {
		return err
	}
	// The locks are held: what the catalogue says now remains until the copies end. A table
	// that was rewritten since the snapshot would look empty under it.
	if err := s.unchanged(ctx, tables); err != nil {
		return err
	}
	work = slices.DeleteFunc(work, func(p piece) bool { return byTable[p.table].reason != nil })
	failed, err := copyAll(ctx, loaders, work, func(t *Table, b *Batch) error {
		if err := byTable[t].loading.Batch(b); err != nil {
			return err
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		if e := s.entries[t.Name]; e != nil {
			e.rows += int64(b.Rows)
		}
		return nil
	})
	if err != nil && failed != nil && !Passing(err) && !errors.Is(err, context.Canceled) {
		// The table's fault: the others load again without it.
		s.drop(byTable[failed], err)
		return errTogether.because("%s", failed.Name).from(err)
	}
	return err
}

// unchanged fails the tables that were rewritten or altered since they were read first.
func (s *Session) unchanged(ctx context.Context, tables []*newTable) error {
	var names []Name
	for _, t := range tables {
		names = append(names, t.table.Name)
	}
	found, err := describe(ctx, s.server.pool, names)
	if err != nil {
		return err
	}
	for _, t := range tables {
		same := slices.ContainsFunc(found, func(f *Table) bool {
			return f.OID == t.table.OID && f.file == t.table.file && f.print == t.table.print && f.Name == t.table.Name
		})
		if !same {
			s.drop(t, errRewritten.because("%s", t.table.Name))
		}
	}
	return nil
}
