package mirror

import (
	"encoding/binary"
	"fmt"
	"slices"
	"sync"

	"gpujoin/joincore"
	"gpujoin/sidecar/bitmap"
)

// Loading is a table that loads: first its rows, from any number of goroutines, then the changes
// since, then it joins the main stream. Whatever fails, the load has to begin again.
type Loading struct {
	s *Server
	t *table

	mu  sync.Mutex
	err error // why it has ended
}

// Begin begins to load a table, which must not be there, or have failed. The error wraps
// ErrOrder, ErrTooLong, joincore.ErrUnsupported or joincore.ErrInvalid.
func (s *Server) Begin(t *Table) (*Loading, error) {
	s.writing.Lock()
	defer s.writing.Unlock()
	if old := s.tables[t.OID]; old != nil && old.state != StateFailed {
		return nil, fmt.Errorf("%w: %s.%s is there", ErrOrder, t.Schema, t.Name)
	}
	r, err := newRows(s.arena, t)
	if err != nil {
		return nil, err
	}
	r.loading = true
	l := &Loading{s: s, t: &table{Table: *t, server: s, rows: r}}
	l.t.Columns, l.t.Key = slices.Clone(t.Columns), slices.Clone(t.Key)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tables[t.OID] = l.t
	return l, nil
}

// Batch adds rows, whose values are copied. The error wraps ErrInconsistent, ErrTooLong or
// ErrMemory.
func (l *Loading) Batch(n int, columns []Values) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err != nil {
		return l.err
	}
	return l.ended(l.t.rows.appendBatch(n, columns))
}

// Change applies a change of the synchronisation stream, when all batches have been added. The
// error wraps ErrInconsistent, ErrTooLong or ErrMemory.
func (l *Loading) Change(c *Change) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err != nil {
		return l.err
	}
	r := l.t.rows
	if err := r.apply(c); err != nil {
		return l.ended(err)
	}
	if len(r.undo.deleted) >= settleMost || r.undo.truncated {
		l.s.mu.Lock()
		defer l.s.mu.Unlock()
		r.publish(0, horizon{})
		r.retire(0)
	}
	return nil
}

// settleMost is how many deletions a loading table collects.
const settleMost = 1 << 16

// Join ends the load: the table has all transactions whose commit lies before an LSN, and gets the
// others from the main stream. It is seen from the position on at which the main stream has
// passed that LSN. The error wraps ErrLate if the main stream has passed it before: the
// synchronisation stream has to go on then.
func (l *Loading) Join(at LSN) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err != nil {
		return l.err
	}
	s := l.s
	s.writing.Lock()
	defer s.writing.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.position > at || s.open && !s.skip && s.final >= at {
		return fmt.Errorf("%w: %d, it is at %d", ErrLate, at, max(s.position, s.final))
	}
	l.t.rows.publish(0, horizon{})
	l.t.rows.retire(0)
	l.t.rows.loading = false
	l.t.joined, l.t.state = at, StateJoining
	l.err = fmt.Errorf("%w: the table has joined the main stream", ErrOrder)
	if s.position >= at {
		l.t.state, l.t.from = StateReady, s.commit
	} else {
		s.joining = append(s.joining, l.t)
	}
	return nil
}

// Cancel gives the load up, unless the table has joined.
func (l *Loading) Cancel(why error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err == nil {
		_ = l.ended(why)
	}
}

// ended ends the load if there is an error, and returns it.
func (l *Loading) ended(err error) error {
	if err == nil {
		return nil
	}
	l.s.writing.Lock()
	defer l.s.writing.Unlock()
	l.err = l.s.fail(l.t, err)
	return l.err
}

// appendBatch adds rows of vectors.
func (r *rows) appendBatch(n int, columns []Values) error {
	r.undo.open = true
	batch := joincore.Relation{Columns: r.columns, Segments: []joincore.Segment{{Rows: n, Columns: columns}}}
	if err := batch.Check(); err != nil {
		return fmt.Errorf("%w: %w", ErrInconsistent, err)
	}
	for i := range r.columns {
		if v := columns[i].Validity; r.notNull[i] && v != nil && !bitmap.AllSet(v, 0, n) {
			return fmt.Errorf("%w: column %d has a NULL, which it cannot have", ErrInconsistent, i)
		}
	}
	for from := 0; from < n; {
		for _, i := range r.variable {
			r.needs[i] = len(columns[i].Variable(from))
		}
		if err := r.makeRoom(); err != nil {
			return err
		}
		rows, err := r.copyRows(columns, from, n-from)
		if err != nil {
			return err
		}
		s := r.tail
		for i := range rows {
			if err := r.reenter(s.number<<segmentBits | uint32(s.rows-rows+i)); err != nil {
				return err
			}
		}
		from += rows
	}
	return nil
}

// copyRows copies as many rows to the tail as have room there, and returns how many.
func (r *rows) copyRows(columns []Values, from, n int) (int, error) {
	s := r.tail
	n = min(n, s.store.capacity-s.rows)
	for _, i := range r.variable {
		l := &s.store.lanes[i]
		n = fitting(&columns[i], from, n, len(l.heap)-l.used)
	}
	if n == 0 {
		return 0, fmt.Errorf("%w: the offsets of a batch decrease", ErrInconsistent)
	}
	for i, c := range r.columns {
		l, v := &s.store.lanes[i], &columns[i]
		if c.Kind == joincore.Varlena {
			if err := l.copyVariable(s.rows, v, from, n); err != nil {
				return 0, fmt.Errorf("column %d: %w", i, err)
			}
		} else {
			copy(l.values[c.Width*s.rows:], v.Values[c.Width*from:c.Width*(from+n)])
		}
		switch {
		case l.validity == nil:
		case v.Validity != nil:
			bitmap.Copy(l.validity, s.rows, v.Validity, from, n)
			l.nulls = true
		case l.nulls:
			bitmap.Set(l.validity, s.rows, n)
		}
	}
	r.touch(s)
	s.rows += n
	r.total += n
	return n, nil
}

// fitting returns how many of n rows have values of so many bytes in all.
func fitting(v *Values, from, n, bytes int) int {
	begin := uint64(binary.LittleEndian.Uint32(v.Values[4*from:]))
	more := func(rows int) bool {
		return uint64(binary.LittleEndian.Uint32(v.Values[4*(from+rows):])) > begin+uint64(bytes)
	}
	if !more(n) {
		return n
	}
	low, high := 0, n // more(high), not more(low)
	for high-low > 1 {
		if mid := (low + high) / 2; more(mid) {
			high = mid
		} else {
			low = mid
		}
	}
	return low
}

// copyVariable appends values of variable length behind some rows.
func (l *lane) copyVariable(at int, v *Values, from, n int) error {
	begin := binary.LittleEndian.Uint32(v.Values[4*from:])
	last := begin
	for i := range n {
		end := binary.LittleEndian.Uint32(v.Values[4*(from+i+1):])
		if end < last || int64(end) > int64(len(v.Heap)) {
			return fmt.Errorf("%w: the offsets of a batch decrease, or exceed its heap", ErrInconsistent)
		}
		last = end
		binary.LittleEndian.PutUint32(l.values[4*(at+i+1):], uint32(l.used)+end-begin)
	}
	l.used += copy(l.heap[l.used:], v.Heap[begin:last])
	return nil
}
