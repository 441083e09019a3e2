package source

import (
	"bytes"
	"time"

	"github.com/jackc/pglogrepl"

	"gpujoin/sidecar/mirror/pgout"
)

// applier is what a follower calls for a stream's messages.
type applier interface {
	// lookup returns the table whose changes are wanted; nil: none of this OID is.
	lookup(oid uint32) *Table
	change(c *Change) error
	commit(xid uint32, end LSN, at time.Time) error
	received(walEnd LSN)
	// fail ends a table that cannot go on; the stream does.
	fail(t *Table, reason error)
}

// follower decodes a stream's frames and calls an applier. It is used by one goroutine at
// a time.
type follower struct {
	frames    cursor
	applier   applier
	decoder   pgout.Decoder
	relations map[uint32]*relation
	position  LSN // everything that commits before it has been applied
	open      bool
	xid       uint32 // of the open transaction
}

// relation is a table as the stream describes it.
type relation struct {
	name     Name
	identity byte
	columns  []pgout.Column
	checked  *Table // for which the description was found right
}

func newFollower(q *queue, a applier, at LSN) *follower {
	return &follower{frames: cursor{queue: q}, applier: a, relations: map[uint32]*relation{}, position: at}
}

// step applies the next frame. moved: there was one. With a limit it stops before the first
// transaction that commits at or after it, and when the position has reached it. An error
// ends the stream.
func (f *follower) step(limit LSN) (moved bool, err error) {
	frame, err := f.frames.peek()
	if frame == nil || err != nil {
		return false, err
	}
	switch frame[0] {
	case pglogrepl.PrimaryKeepaliveMessageByteID:
		k, err := pglogrepl.ParsePrimaryKeepaliveMessage(frame[1:])
		if err != nil {
			return false, errStream.because("%v", err)
		}
		// Within a transaction it says nothing of this one.
		if end := LSN(k.ServerWALEnd); !f.open && end > f.position {
			f.position = end
			f.applier.received(end)
		}
	case pglogrepl.XLogDataByteID:
		x, err := pglogrepl.ParseXLogData(frame[1:])
		if err != nil {
			return false, errStream.because("%v", err)
		}
		message, err := f.decoder.Decode(x.WALData)
		if err != nil {
			return false, errStream.because("%v", err)
		}
		if begin, ok := message.(*pgout.Begin); ok && limit != 0 && begin.Final >= limit {
			f.position = max(f.position, limit)
			return false, nil
		}
		if err := f.message(message); err != nil {
			return false, err
		}
	default:
		return false, errStream.because("a frame of type %q", frame[0])
	}
	f.frames.next()
	return true, nil
}

// message applies one message of pgoutput.
func (f *follower) message(message pgout.Message) error {
	switch m := message.(type) {
	case *pgout.Begin:
		if f.open {
			return errStream.because("a transaction begins within another one")
		}
		f.open, f.xid = true, m.XID
	case *pgout.Commit:
		if !f.open {
			return errStream.because("a transaction ends that has not begun")
		}
		f.open = false
		if m.End <= f.position {
			return errStream.because("a transaction was sent twice")
		}
		f.position = m.End
		return f.applier.commit(f.xid, m.End, pgout.Time(m.Time))
	case *pgout.Relation:
		f.describe(m)
	case *pgout.Insert:
		return f.row(m.Relation, Change{Kind: Insert, New: m.New}, 0)
	case *pgout.Update:
		return f.row(m.Relation, Change{Kind: Update, New: m.New, Key: m.Old}, m.Identity)
	case *pgout.Delete:
		return f.row(m.Relation, Change{Kind: Delete, Key: m.Old}, m.Identity)
	case *pgout.Truncate:
		for _, oid := range m.Relations {
			if err := f.row(oid, Change{Kind: Truncate}, 0); err != nil {
				return err
			}
		}
	}
	return nil
}

// describe keeps a table's description, also of tables that are mirrored later only: the
// source sends it once.
func (f *follower) describe(m *pgout.Relation) {
	r := &relation{name: Name{string(m.Namespace), string(m.Name)}, identity: m.Identity}
	for _, c := range m.Columns {
		c.Name = bytes.Clone(c.Name)
		r.columns = append(r.columns, c)
	}
	f.relations[m.ID] = r
}

// row applies a change of a row. A fault of the row fails its table, one of the stream's
// order the stream.
func (f *follower) row(oid uint32, c Change, identity byte) error {
	r := f.relations[oid]
	if r == nil || !f.open {
		return errStream.because("a change of a table that was not described, or outside of a transaction")
	}
	if c.Table = f.applier.lookup(oid); c.Table == nil {
		return nil
	}
	if err := r.fit(&c, identity); err != nil {
		f.applier.fail(c.Table, err)
		return nil
	}
	return f.applier.change(&c)
}

// fit checks a change against the table's columns, and cuts its rows to these: columns that
// were added later are at their end.
func (r *relation) fit(c *Change, identity byte) error {
	if r.checked != c.Table {
		if err := r.check(c.Table); err != nil {
			return err
		}
		r.checked = c.Table
	}
	if c.Kind == Truncate {
		return nil
	}
	for _, row := range []*Values{&c.New, &c.Key} {
		if len(*row) == 0 && (row == &c.New && c.Kind == Delete || row == &c.Key && identity == 0) {
			*row = nil
			continue
		}
		if len(*row) != len(r.columns) {
			return errStream.because("a row of %s has %d values instead of %d", c.Table.Name, len(*row), len(r.columns))
		}
		*row = (*row)[:len(c.Table.Published)]
		for i, v := range *row {
			if v.Kind == pgout.Text || v.Kind == pgout.Unchanged && (c.Kind != Update || row == &c.Key) {
				return errStream.because("a value of %s in %s is not sent in binary form", c.Table.column(i).Name, c.Table.Name)
			}
		}
	}
	return nil
}

// check compares a description with the columns and the key that the catalogue had when the
// table was loaded.
func (r *relation) check(t *Table) error {
	switch {
	case r.name != t.Name:
		return errAltered.because("%s is now %s", t.Name, r.name)
	case r.identity != 'd' && r.identity != 'i':
		return errAltered.because("the replica identity of %s names no key", t.Name)
	case len(r.columns) < len(t.Published):
		return errAltered.because("%s has fewer columns", t.Name)
	}
	key := make([]bool, len(r.columns))
	for _, at := range t.Key {
		key[at] = true
	}
	for i, c := range r.columns {
		if c.Key != key[i] {
			return errAltered.because("the replica identity of %s has other columns", t.Name)
		}
		if i >= len(t.Published) {
			continue
		}
		if want := t.column(i); string(c.Name) != want.Name || c.Type != want.Type || c.Typmod != want.Typmod {
			return errAltered.because("column %s of %s was renamed, replaced or has another type", want.Name, t.Name)
		}
	}
	return nil
}
