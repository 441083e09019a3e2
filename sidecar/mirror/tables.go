package mirror

import (
	"fmt"
	"slices"
	"time"
)

// Status describes the mirror of a table, for people.
type Status struct {
	Schema, Name string
	OID          uint32
	State        State
	Rows         int64
	Dead         int64 // deleted rows that still take memory
	Bytes        int64 // of columns, those that are free for the next rows included
	Device       int64 // of the memory of devices
	Err          error // of StateFailed
}

// Tables returns the status of all tables, by OID. device returns the bytes that a content takes
// on devices; nil: none does.
func (s *Server) Tables(device func(content uint64) int64) []Status {
	s.writing.Lock()
	defer s.writing.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []Status
	for _, t := range s.tables {
		st := Status{Schema: t.Schema, Name: t.Name, OID: t.OID, State: t.state, Err: t.err}
		if t.rows != nil && t.state != StateLoading {
			st.Rows, st.Bytes = t.rows.published.rows, t.rows.bytes()
			for _, seg := range t.rows.published.segments {
				st.Dead += int64(seg.stored())
				if device != nil {
					seg.shown.contents(func(content uint64) { st.Device += device(content) })
				}
			}
			st.Dead -= st.Rows
		}
		out = append(out, st)
	}
	slices.SortFunc(out, func(a, b Status) int { return int(int64(a.OID) - int64(b.OID)) })
	return out
}

// Find returns a table by its name, its state and about how many rows it has; nil: there is none.
// If there are several, because one took the name of another, it is the one that can be read.
func (s *Server) Find(schema, name string) (found *Table, state State, rows int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range s.tables {
		if t.Schema != schema || t.Name != name || found != nil && t.state != StateReady {
			continue
		}
		found, state, rows = &t.Table, t.state, 0
		if t.state == StateReady {
			rows = t.rows.published.rows
		}
	}
	return found, state, rows
}

// TableBytes returns the bytes of a table's columns; 0: it is not there.
func (s *Server) TableBytes(table uint32) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t := s.tables[table]; t != nil && t.state == StateReady {
		return t.rows.bytes()
	}
	return 0
}

// bytes returns the bytes of the spans of published segments.
func (r *rows) bytes() (n int64) {
	for _, s := range r.published.segments {
		for _, span := range s.shown.spans {
			n += int64(len(span.data))
		}
	}
	return n
}

// Bytes returns the memory of all mirrors: that of extents, and that beside them.
func (s *Server) Bytes() (extents, besides int64) {
	return s.account.extents.Load(), s.account.besides.Load()
}

// Newest returns when the newest published transaction was committed on the source, by its clock.
func (s *Server) Newest() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.at
}

// Fail gives up the mirror of a table: its definition has changed, for example. It can be loaded
// again.
func (s *Server) Fail(table uint32, why error) {
	s.writing.Lock()
	defer s.writing.Unlock()
	if t := s.tables[table]; t != nil && t.state != StateFailed && t.state != StateLoading {
		_ = s.fail(t, why) // its own error
	}
}

// Drop forgets a table. A later change of it is out of order.
func (s *Server) Drop(table uint32) error {
	s.writing.Lock()
	defer s.writing.Unlock()
	t := s.tables[table]
	switch {
	case t == nil:
		return nil
	case t.state == StateLoading:
		return fmt.Errorf("%w: %s.%s still loads", ErrOrder, t.Schema, t.Name)
	case t.state != StateFailed:
		_ = s.fail(t, ErrNotReady) // readers see no table
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.tables, table)
	return nil
}
