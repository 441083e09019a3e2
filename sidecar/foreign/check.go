package foreign

import (
	"context"
	"encoding/binary"
	"fmt"
	"hash/maphash"
	"time"

	"gpujoin/joincore"
	"gpujoin/sidecar/mirror"
	"gpujoin/sidecar/mirror/encode"
	"gpujoin/sidecar/source"
)

// checkAnswer answers CHECK.
type checkAnswer struct {
	Rows     int64  `json:"rows"`    // of the mirror
	Missing  int64  `json:"missing"` // that the source has and the mirror has not
	Extra    int64  `json:"extra"`   // that the mirror has and the source has not
	Position string `json:"position"`
}

const (
	checkAttempts = 10
	checkWait     = 30 * time.Second // for the mirror to reach a position
)

// errMoving: a snapshot of the source has a position that no pin has. A table can be compared
// while others change.
var errMoving = &source.Error{SQLState: "55000", Message: "the table changed during each comparison with its source",
	Hint: "repeat it when fewer transactions change the table"}

// check compares a mirror with a snapshot of its source that was taken between two pins of the
// mirror, between which the table has not changed.
//
// The source may send a transaction a moment before its own snapshots see it, so differences
// count only if they are there twice.
func (e *entry) check(ctx context.Context, r *request) (any, error) {
	differed := false
	for range checkAttempts {
		out, same, err := e.compare(ctx, r)
		switch {
		case err != nil:
			return nil, err
		case same && (differed || out.Missing == 0 && out.Extra == 0):
			return out, nil
		}
		differed = differed || same
	}
	return nil, errMoving
}

// compare compares once. same: the table has not changed meanwhile, so that the answer is valid.
func (e *entry) compare(ctx context.Context, r *request) (out checkAnswer, same bool, err error) {
	before, first, err := e.pinNow(ctx, r)
	if err != nil {
		return out, false, err
	}
	defer before.Close()
	snapshot, err := e.session.snapshot(ctx, r.Table.name())
	if err != nil {
		return out, false, err
	}
	defer snapshot.Close()
	after, second, err := e.pinNow(ctx, r)
	if err != nil {
		return out, false, err
	}
	after.Close()
	if first.Last != second.Last || first.Table != second.Table || !first.Whole {
		return out, false, nil
	}
	if reason, hint := e.unfit(r.Table.name(), first.All, r.Columns); reason != "" {
		return out, false, &source.Error{SQLState: "55000", Message: "the mirror has other columns than the foreign table", Detail: reason, Hint: hint}
	}
	c := newCounter(r.Columns, first.All)
	relation, err := before.Relation(first.Table, c.places)
	if err != nil {
		return out, false, err
	}
	out.Position = formatLSN(before.Position())
	out.Rows = c.mirror(&relation)
	if err := snapshot.Copy(ctx, source.Read{Table: r.Table.name(), Columns: c.names}, c.source); err != nil {
		return out, false, err
	}
	for _, n := range c.rows {
		out.Missing += max(0, -n)
		out.Extra += max(0, n)
	}
	return out, true, nil
}

// pinNow pins the mirror at a position behind everything that the source has committed.
func (e *entry) pinNow(ctx context.Context, r *request) (*mirror.Pin, mirror.Held, error) {
	waiting, cancel := context.WithTimeout(ctx, checkWait)
	defer cancel()
	at, err := e.session.Latest(waiting)
	if err == nil {
		err = e.session.WaitFor(waiting, at)
	}
	if err != nil {
		return nil, mirror.Held{}, err
	}
	p := e.mirrors.Pin()
	held, err := p.Hold(r.Table.Schema, r.Table.Table)
	if err != nil {
		p.Close()
		reason, hint := e.unready(r.Table.name())
		return nil, mirror.Held{}, &source.Error{SQLState: "55000", Message: fmt.Sprintf("table %s has no mirror", r.Table.name()), Detail: reason, Hint: hint}
	}
	return p, held, nil
}

// counter counts rows by the hash of their encoded values: the mirror's as 1, the source's as
// -1.
type counter struct {
	names    []source.Expression
	places   []int // in the mirror
	encoders []*encode.Encoder
	rows     map[uint64]int64
	seed     maphash.Seed
	row      []byte
	value    []byte
}

// newCounter returns a counter of columns that the mirror has.
func newCounter(wanted []wantedColumn, columns []mirror.Column) *counter {
	c := &counter{rows: map[uint64]int64{}, seed: maphash.MakeSeed()}
	for i := range wanted {
		for place := range columns {
			have := &columns[place]
			if have.Name != wanted[i].Name {
				continue
			}
			encoder, err := encode.New(encode.Type{OID: have.Type, Form: encode.Form(have.Form), Scale: have.Scale})
			if err != nil {
				continue // a mirror has no such column
			}
			c.names, c.places, c.encoders = append(c.names, source.Expression{Column: have.Name}), append(c.places, place), append(c.encoders, encoder)
			break
		}
	}
	return c
}

// begin begins a value of the current row, behind the place of its length.
func (c *counter) begin() (from int) {
	c.row = append(c.row, 0, 0, 0, 0)
	return len(c.row)
}

// end ends a value. NULL has no length.
func (c *counter) end(from int, null bool) {
	n := uint32(len(c.row) - from)
	if null {
		n = ^uint32(0)
	}
	binary.LittleEndian.PutUint32(c.row[from-4:], n)
}

// count counts the current row, and begins the next one.
func (c *counter) count(by int64) {
	hash := maphash.Bytes(c.seed, c.row)
	if c.rows[hash] += by; c.rows[hash] == 0 {
		delete(c.rows, hash)
	}
	c.row = c.row[:0]
}

// mirror counts the rows of a relation, and returns how many there are.
func (c *counter) mirror(r *joincore.Relation) (rows int64) {
	for i := range r.Segments {
		s := &r.Segments[i]
		for row := range s.Rows {
			for j := range s.Columns {
				v := &s.Columns[j]
				null := v.Validity != nil && v.Validity[row/8]&(1<<(row%8)) == 0
				from := c.begin()
				switch width := r.Columns[j].Width; {
				case null:
				case r.Columns[j].Kind == joincore.Varlena:
					at, end := binary.LittleEndian.Uint32(v.Values[4*row:]), binary.LittleEndian.Uint32(v.Values[4*row+4:])
					c.row = append(c.row, v.Heap[at:end]...)
				default:
					c.row = append(c.row, v.Values[width*row:width*(row+1)]...)
				}
				c.end(from, null)
			}
			c.count(1)
		}
		rows += int64(s.Rows)
	}
	return rows
}

// source counts rows of the source.
func (c *counter) source(b *source.Batch) error {
	for row := range b.Rows {
		for j := range c.names {
			null := b.Lengths[row*b.Columns+j] < 0
			from := c.begin()
			if !null {
				var err error
				if c.value, err = c.encoders[j].Append(c.value[:0], b.Value(row, j)); err != nil {
					return fmt.Errorf("column %s: %w", c.names[j].Column, err)
				}
				c.row = append(c.row, c.value...)
			}
			c.end(from, null)
		}
		c.count(-1)
	}
	return nil
}
