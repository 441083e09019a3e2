package source

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"
)

// watchInterval is the time between two looks at the source's catalogue. What changes there
// without a message in the stream is noticed after at most this time: a table that is taken
// out of the publication, dropped or rewritten, a privilege that is revoked.
const watchInterval = time.Second

// lookTime bounds one look: it waits for locks of the publication's tables.
const lookTime = 10 * time.Second

// joinedTable is a table that has joined, with what must not change.
type joinedTable struct {
	table *Table
	print string // of its part of the publication
}

// watch looks at the source each second until the stream must end, and says why.
func (s *Session) watch(ctx context.Context, m *stream, sl slot) error {
	tick := time.NewTicker(watchInterval)
	defer tick.Stop()
	for {
		bounded, cancel := context.WithTimeout(ctx, lookTime)
		err := s.look(bounded, m, sl)
		cancel()
		if err != nil && ctx.Err() == nil {
			if errors.Is(err, errRetained) || errors.Is(err, errSlotLost) {
				return err
			}
			s.log.Warn("the source's catalogue could not be read", "error", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// look looks once. Mirrors of tables that are no longer what they were end.
func (s *Session) look(ctx context.Context, m *stream, sl slot) error {
	now := time.Now()
	at, err := s.asker.latest(ctx)
	if err != nil {
		return err
	}
	s.positions.saw(at, now)
	s.mu.Lock()
	load := s.load
	s.mu.Unlock()
	names := []string{sl.name}
	if load != nil {
		names = append(names, load.slot)
	}
	kept, err := s.server.retained(ctx, names)
	if err != nil {
		return err
	}
	bytes, ok := kept[sl.name]
	if !ok {
		return errSlotLost.because("the slot %s was dropped", sl.name)
	}
	s.update(func() { s.retained = bytes })
	if bytes > s.options.MaxRetainedWAL {
		return errRetained.because("%d bytes instead of %d", bytes, s.options.MaxRetainedWAL)
	}
	if load != nil && kept[load.slot] > s.options.MaxRetainedWAL {
		load.stop(errRetained.because("%d bytes instead of %d while tables were loaded", kept[load.slot], s.options.MaxRetainedWAL))
	}
	var joined map[uint32]joinedTable
	if err := m.main.between(ctx, func(LSN) { joined = maps.Clone(m.main.joined) }); err != nil {
		return err
	}
	lost, err := s.compare(ctx, joined)
	if err != nil || len(lost) == 0 {
		return err
	}
	return m.main.between(ctx, func(LSN) {
		for oid, reason := range lost {
			// A table that has failed meanwhile, or loaded anew, is another one.
			if m.main.joined[oid].table == joined[oid].table {
				m.main.fail(joined[oid].table, reason)
			}
		}
	})
}

// compare returns which tables have changed, and why their mirrors end.
func (s *Session) compare(ctx context.Context, joined map[uint32]joinedTable) (map[uint32]error, error) {
	if len(joined) == 0 {
		return nil, nil
	}
	var names []Name
	var oids []uint32
	prints := map[uint32]string{}
	for oid, j := range joined {
		names, oids, prints[oid] = append(names, j.table.Name), append(oids, oid), j.print
	}
	p, err := publicationOf(ctx, s.server.pool, s.options.Publication, oids)
	if err != nil {
		return nil, err
	}
	found, err := describe(ctx, s.server.pool, names)
	if err != nil {
		return nil, err
	}
	lost := missing(p, prints)
	for oid, j := range joined {
		at := slices.IndexFunc(found, func(t *Table) bool { return t.Name == j.table.Name })
		switch {
		case !s.wanted(j.table.Name):
			lost[oid] = errUnwanted.because("%s", j.table.Name)
		case at < 0:
			lost[oid] = errNoTable.because("%s", j.table.Name)
		case found[at].OID != oid:
			lost[oid] = errAltered.because("%s is another table now", j.table.Name)
		case found[at].Direct != nil:
			lost[oid] = found[at].Direct
		// Columns that were added at the end are left out, until the table is loaded anew.
		case !strings.HasPrefix(found[at].print, j.table.print), !slices.Equal(found[at].Key, j.table.Key):
			lost[oid] = errAltered.because("the columns or the key of %s have changed", j.table.Name)
		}
	}
	return lost, nil
}
