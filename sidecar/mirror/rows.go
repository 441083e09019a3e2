package mirror

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/maphash"

	"gpujoin/joincore"
	"gpujoin/sidecar/mirror/encode"
)

// rows are the rows of one table. One goroutine at a time writes them. The fields below
// `published` are guarded by Server.mu.
type rows struct {
	arena    *arena
	columns  []joincore.Column
	notNull  []bool
	nullable []bool // the opposite
	variable []int  // positions of Varlena columns
	key      []int
	most     int // rows of a segment

	segments []*segment // by number; nil: the number is free
	unused   []uint32   // free numbers
	tail     *segment   // nil: the next row begins one
	index    *index
	widths   []float64 // bytes of heap a row of each column takes
	total    int       // rows that were appended since the last truncation
	loading  bool      // nothing is rolled back
	needs    []int     // bytes of heap for the row that is appended
	keyRow   encode.Row
	undo     undo

	published struct {
		segments []*segment
		rows     int64 // neither deleted nor truncated
		ended    int   // segments that were truncated
	}
}

func newRows(a *arena, t *Table) (*rows, error) {
	r := &rows{arena: a, key: t.Key, needs: make([]int, len(t.Columns)), widths: make([]float64, len(t.Columns))}
	for i, c := range t.Columns {
		if c.Physical.StoredWidth() == 0 {
			return nil, fmt.Errorf("column %s: %w", c.Name, joincore.ErrUnsupported)
		}
		r.columns = append(r.columns, c.Physical)
		r.notNull, r.nullable = append(r.notNull, c.NotNull), append(r.nullable, !c.NotNull)
		if c.Physical.Kind == joincore.Varlena {
			r.variable = append(r.variable, i)
			r.widths[i] = 16
		}
	}
	if r.most = mostRows(a.size, r.columns) &^ 7; r.most < 8 {
		return nil, fmt.Errorf("%w: a segment has no 8 rows in extents of %d bytes", ErrTooLong, a.size)
	}
	if len(t.Key) == 0 {
		return nil, fmt.Errorf("%w: no replica identity names a key", joincore.ErrUnsupported)
	}
	for _, c := range t.Key {
		if c < 0 || c >= len(t.Columns) {
			return nil, fmt.Errorf("key column %d of %d: %w", c, len(t.Columns), joincore.ErrInvalid)
		}
	}
	r.index = newIndex(a.account)
	return r, nil
}

// at returns where a row is.
func (r *rows) at(row uint32) (*segment, int) {
	return r.segments[row>>segmentBits], int(row & (segmentRows - 1))
}

// append adds a row. Values that the row does not have are those of the row `old`.
func (r *rows) append(row *encode.Row, old uint32) (uint32, error) {
	if err := r.check(row, old); err != nil {
		return noRow, err
	}
	if err := r.makeRoom(); err != nil {
		return noRow, err
	}
	s := r.tail
	at := s.rows
	for i := range r.columns {
		c, l, f := &r.columns[i], &s.store.lanes[i], &row.Fields[i]
		var value []byte
		null := f.State == encode.Null
		switch f.State {
		case encode.Present:
			value = row.Data[f.From:f.To]
		case encode.Unchanged: // looked up only now: making room may have moved it
			from, n := r.at(old)
			null = from.store.lanes[i].null(n)
			value = from.store.lanes[i].value(*c, n)
		}
		if l.validity != nil {
			l.setNull(at, null)
		}
		if c.Kind == joincore.Varlena {
			l.used += copy(l.heap[l.used:], value)
			binary.LittleEndian.PutUint32(l.values[4*(at+1):], uint32(l.used))
			continue
		}
		to := l.values[c.Width*at : c.Width*(at+1)]
		switch {
		case len(value) != c.Width:
			clear(to) // NULL
		case c.Width == 8:
			*(*[8]byte)(to) = *(*[8]byte)(value)
		case c.Width == 4:
			*(*[4]byte)(to) = *(*[4]byte)(value)
		default:
			copy(to, value)
		}
	}
	r.touch(s)
	s.rows++
	r.total++
	return s.number<<segmentBits | uint32(at), nil
}

// check finds what a row is not allowed to have, and how much it needs of each heap.
func (r *rows) check(row *encode.Row, old uint32) error {
	if len(row.Fields) != len(r.columns) {
		return fmt.Errorf("%w: a row has %d values, the table %d columns", ErrInconsistent, len(row.Fields), len(r.columns))
	}
	for i := range r.columns {
		f, c := &row.Fields[i], &r.columns[i]
		if f.From > f.To || int(f.To) > len(row.Data) {
			return fmt.Errorf("%w: value %d has no bytes", ErrInconsistent, i)
		}
		n := int(f.To - f.From)
		switch f.State {
		case encode.Present:
			if c.Kind == joincore.Fixed && n != c.Width {
				return fmt.Errorf("%w: value %d has %d bytes, the column %d", ErrInconsistent, i, n, c.Width)
			}
		case encode.Null:
			if n = 0; r.notNull[i] {
				return fmt.Errorf("%w: value %d is NULL, which the column cannot be", ErrInconsistent, i)
			}
		default:
			if old == noRow {
				return fmt.Errorf("%w: value %d is missing, and there is no old version", ErrInconsistent, i)
			}
			s, at := r.at(old)
			n = len(s.store.lanes[i].value(*c, at))
		}
		r.needs[i] = n
	}
	return nil
}

// value returns the bytes of a value, and whether it is NULL.
func (r *rows) value(row uint32, column int) ([]byte, bool) {
	s, at := r.at(row)
	l := &s.store.lanes[column]
	return l.value(r.columns[column], at), l.null(at)
}

// hash returns the hash of an encoded key: of the fields, one for each column of it.
func (r *rows) hash(key *encode.Row) uint64 {
	h := uint64(0)
	for i := range key.Fields {
		h = h*hashFactor + maphash.Bytes(r.index.seed, key.Bytes(i))
	}
	return h
}

const hashFactor = 0x9E3779B97F4A7C15

// hashOf returns the hash of a row's key.
func (r *rows) hashOf(row uint32) uint64 {
	h := uint64(0)
	for _, c := range r.key {
		value, _ := r.value(row, c)
		h = h*hashFactor + maphash.Bytes(r.index.seed, value)
	}
	return h
}

// hasKey reports whether a row has a key.
func (r *rows) hasKey(row uint32, key *encode.Row) bool {
	for i, c := range r.key {
		if value, null := r.value(row, c); null || !bytes.Equal(value, key.Bytes(i)) {
			return false
		}
	}
	return true
}

// keyOf returns the key of a new row, until the next call.
func (r *rows) keyOf(row *encode.Row) *encode.Row {
	r.keyRow.Data, r.keyRow.Fields = row.Data, r.keyRow.Fields[:0]
	for _, c := range r.key {
		r.keyRow.Fields = append(r.keyRow.Fields, row.Fields[c])
	}
	return &r.keyRow
}

// find returns the slot of the row that has a key. All columns of a key must have values.
func (r *rows) find(key *encode.Row) (uint64, *uint32, error) {
	if len(key.Fields) != len(r.key) {
		return 0, nil, fmt.Errorf("%w: a key has %d values, the table's %d", ErrInconsistent, len(key.Fields), len(r.key))
	}
	for i, f := range key.Fields {
		if f.State != encode.Present || f.From > f.To || int(f.To) > len(key.Data) {
			return 0, nil, fmt.Errorf("%w: value %d of the key is missing", ErrInconsistent, i)
		}
	}
	hash := r.hash(key)
	return hash, r.index.find(hash, func(row uint32) bool { return r.hasKey(row, key) }), nil
}

// besides adds to the memory beside extents.
func (r *rows) besides(n int64) { r.arena.besides.Add(n) }
