package mirror

import (
	"bytes"
	"fmt"

	"gpujoin/sidecar/mirror/encode"
)

// undo is what the open transaction has done to a table.
type undo struct {
	open    bool
	log     []step     // changes of the index
	deleted []uint32   // rows
	touched []*segment // that have new rows
	bytes   int64      // of the log and of deleted, in the account

	// The first truncation: what was there before. The log and deleted are of that.
	truncated bool
	index     *index
	tail      *segment
	total     int
}

// step is a change of the index: the row `was` became `is`, or one of them is noRow.
type step struct{ was, is uint32 }

const (
	stepBytes = 8
	rowBytes  = 4
)

// apply applies a change to the rows. The error wraps ErrInconsistent, ErrTooLong or ErrMemory,
// and leaves the rows in no state.
func (r *rows) apply(c *Change) error {
	r.undo.open = true
	switch c.Op {
	case Insert:
		return r.insert(&c.New)
	case Update:
		return r.update(&c.New, &c.Key)
	case Delete:
		return r.remove(&c.Key)
	case Truncate:
		r.truncate()
		return nil
	}
	return fmt.Errorf("%w: a change of kind %d", ErrInconsistent, c.Op)
}

func (r *rows) insert(new *encode.Row) error {
	row, err := r.append(new, noRow)
	if err != nil {
		return err
	}
	return r.enter(r.keyOf(new), row)
}

// enter adds a row's key to the index.
func (r *rows) enter(key *encode.Row, row uint32) error {
	hash, there, err := r.find(key)
	switch {
	case err != nil:
		return err
	case there != nil:
		return fmt.Errorf("%w: a new row has the key of another", ErrInconsistent)
	}
	if err := r.index.insert(hash, row, r.hashOf); err != nil {
		return err
	}
	r.log(step{noRow, row})
	return nil
}

func (r *rows) remove(key *encode.Row) error {
	hash, slot, err := r.find(key)
	switch {
	case err != nil:
		return err
	case slot == nil:
		return fmt.Errorf("%w: a row that is deleted is not there", ErrInconsistent)
	}
	r.leave(hash, *slot)
	return nil
}

// leave takes a row's key out of the index.
func (r *rows) leave(hash uint64, row uint32) {
	r.index.remove(hash, row)
	r.log(step{row, noRow})
	r.delete(row)
}

func (r *rows) delete(row uint32) {
	r.undo.deleted = append(r.undo.deleted, row)
	r.undo.bytes += rowBytes
	r.besides(rowBytes)
}

func (r *rows) update(new, key *encode.Row) error {
	same := len(key.Fields) == 0
	if same {
		if len(new.Fields) != len(r.columns) {
			return fmt.Errorf("%w: a row has %d values, the table %d columns", ErrInconsistent, len(new.Fields), len(r.columns))
		}
		key = r.keyOf(new)
	}
	hash, slot, err := r.find(key)
	switch {
	case err != nil:
		return err
	case slot == nil:
		return fmt.Errorf("%w: a row that is updated is not there", ErrInconsistent)
	}
	old := *slot
	row, err := r.append(new, old)
	if err != nil {
		return err
	}
	if same || r.hasKey(row, key) {
		*slot = row
		r.log(step{old, row})
		r.delete(old)
		return nil
	}
	r.leave(hash, old)
	return r.reenter(row)
}

// reenter adds a stored row's key to the index.
func (r *rows) reenter(row uint32) error {
	for i, c := range r.key {
		if value, null := r.value(row, c); null {
			return fmt.Errorf("%w: value %d of the key is NULL", ErrInconsistent, i)
		} else if len(value) == 0 {
			return fmt.Errorf("%w: value %d of the key is missing", ErrInconsistent, i)
		}
	}
	hash := r.hashOf(row)
	if r.index.find(hash, func(o uint32) bool { return r.haveSameKey(o, row) }) != nil {
		return fmt.Errorf("%w: an updated row has the key of another", ErrInconsistent)
	}
	if err := r.index.insert(hash, row, r.hashOf); err != nil {
		return err
	}
	r.log(step{noRow, row})
	return nil
}

func (r *rows) haveSameKey(a, b uint32) bool {
	for _, c := range r.key {
		x, _ := r.value(a, c)
		y, _ := r.value(b, c)
		if !bytes.Equal(x, y) {
			return false
		}
	}
	return true
}

// log records a change of the index, unless a rollback would drop that index as a whole.
func (r *rows) log(s step) {
	if r.undo.truncated || r.loading {
		return
	}
	r.undo.log = append(r.undo.log, s)
	r.undo.bytes += stepBytes
	r.besides(stepBytes)
}

// touch records that the open transaction has appended to a segment.
func (r *rows) touch(s *segment) {
	if !s.touched {
		s.touched = true
		r.undo.touched = append(r.undo.touched, s)
	}
}

// truncate deletes all rows. A rollback brings them back.
func (r *rows) truncate() {
	u := &r.undo
	if !u.truncated {
		u.truncated, u.index, u.tail, u.total = true, r.index, r.tail, r.total
		for _, s := range r.segments {
			if s != nil {
				s.cut = true
			}
		}
	} else {
		r.index.release()
		for _, s := range r.segments {
			if s != nil && s.shown == nil && !s.cut {
				r.drop(s)
			}
		}
		u.touched = keepTouched(u.touched)
	}
	// Deletions of rows of after a truncation end with them; those of before are undone with it.
	u.deleted = u.deleted[:0]
	r.index, r.tail, r.total = newIndex(r.arena.account), nil, 0
}

// keepTouched returns the segments that were there before the truncation.
func keepTouched(all []*segment) []*segment {
	kept := all[:0]
	for _, s := range all {
		if s.cut {
			kept = append(kept, s)
		}
	}
	return kept
}

// drop takes a segment that is not published away.
func (r *rows) drop(s *segment) {
	if s.store != s.shown {
		r.arena.free(s.store.spans)
	}
	r.segments[s.number] = nil
	r.unused = append(r.unused, s.number)
	r.besides(-segmentBytes)
}

// rollback undoes the open transaction. The error wraps ErrMemory: the index needed more.
func (r *rows) rollback() error {
	u := &r.undo
	if u.truncated {
		r.index.release()
		r.index, r.tail, r.total = u.index, u.tail, u.total
	}
	for i := len(u.log) - 1; i >= 0; i-- {
		if err := r.revert(u.log[i]); err != nil {
			return err
		}
	}
	for _, s := range u.touched {
		s.touched = false
		if s.shown == nil {
			if r.tail == s {
				r.tail = nil
			}
			r.drop(s)
			continue
		}
		if s.sealed { // by the transaction: it grows again
			r.move(s, s.shown)
			s.sealed, r.tail = false, s
		}
		s.rows = s.stored()
		for i, c := range r.columns {
			s.store.lanes[i].cutTo(c, s.rows)
		}
	}
	if u.truncated {
		for _, s := range r.segments {
			if s != nil {
				s.cut = false
			}
		}
	}
	r.closeUndo()
	return nil
}

func (r *rows) revert(s step) error {
	switch {
	case s.was == noRow:
		r.index.remove(r.hashOf(s.is), s.is)
	case s.is == noRow:
		return r.index.insert(r.hashOf(s.was), s.was, r.hashOf)
	default:
		r.index.replace(r.hashOf(s.is), s.is, s.was)
	}
	return nil
}

// closeUndo ends the open transaction. It keeps the memory of small ones.
func (r *rows) closeUndo() {
	u := &r.undo
	r.besides(-u.bytes)
	if cap(u.log) > 1<<16 || cap(u.deleted) > 1<<16 {
		u.log, u.deleted = nil, nil
	}
	clear(u.touched)
	*u = undo{log: u.log[:0], deleted: u.deleted[:0], touched: u.touched[:0]}
}
