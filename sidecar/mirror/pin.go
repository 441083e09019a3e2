package mirror

import (
	"fmt"
	"slices"
	"sync"

	"gpujoin/joincore"
	"gpujoin/sidecar/mirror/encode"
)

// Pin is a position in the source's order of commits, and a hold on what the tables had there.
// Its methods are safe for concurrent use.
type Pin struct {
	s            *Server
	commit       uint64
	position     LSN
	older, newer *Pin

	mu      sync.Mutex
	closed  bool
	held    []hold
	kept    map[uint32]seen // tables of which Hold has taken the parts
	scratch []span
}

// seen is what a pin sees of a table.
type seen struct {
	rows  *rows
	parts []part
	table *Table
	held  Held
}

// Held is a table of which a pin keeps the rows.
type Held struct {
	Table uint32   // OID
	All   []Column // as the mirror has them, by position
	Rows  int64    // about
	// Last is the number of the last commit until now that has changed the table. Between two pins
	// that agree on it, and of which the first one is Whole, the table has not changed.
	Last  uint64
	Whole bool // the pin sees that commit
}

// Hold makes the pin keep the rows of a table until Close, whatever becomes of its mirror: Relation
// goes on returning them. The error wraps ErrNotReady.
func (p *Pin) Hold(schema, name string) (Held, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, k := range p.kept {
		if k.table.Schema == schema && k.table.Name == name {
			return k.held, nil
		}
	}
	t, _, rows := p.s.Find(schema, name)
	if t == nil {
		return Held{}, fmt.Errorf("%w: %s.%s is not known", ErrNotReady, schema, name)
	}
	r, parts, err := p.parts(t.OID)
	if err != nil {
		return Held{}, err
	}
	k := seen{rows: r, parts: parts, table: t, held: Held{Table: t.OID, All: t.Columns, Rows: rows}}
	p.s.mu.Lock()
	now := p.s.tables[t.OID]
	if now == nil || &now.Table != t {
		p.s.mu.Unlock()
		return Held{}, fmt.Errorf("%w: %s.%s has just been replaced", ErrNotReady, schema, name)
	}
	k.held.Last, k.held.Whole = now.last, now.last <= p.commit
	p.s.mu.Unlock()
	if p.kept == nil {
		p.kept = map[uint32]seen{}
	}
	p.kept[t.OID] = k
	return k.held, nil
}

// sees returns what the pin sees of a table.
func (p *Pin) sees(table uint32) (*rows, []part, error) {
	if k, ok := p.kept[table]; ok {
		return k.rows, k.parts, nil
	}
	return p.parts(table)
}

// hold is a storage that a pin's relations have slices of, and the rows it belongs to.
type hold struct {
	rows    *rows
	storage *storage
}

// Pin pins the newest published commit. The caller closes it.
func (s *Server) Pin() *Pin {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := &Pin{s: s, commit: s.commit, position: s.position, older: s.newest}
	if s.newest != nil {
		s.newest.newer = p
	} else {
		s.oldest = p
	}
	s.newest = p
	return p
}

// horizon is the commits of the oldest and of the newest pin. Without pins, the oldest is that of the
// next one, and the newest is none.
type horizon struct{ oldest, newest uint64 }

// horizon returns the commits of the pins. The caller holds mu.
func (s *Server) horizon() horizon {
	if s.oldest == nil {
		return horizon{oldest: s.commit}
	}
	return horizon{s.oldest.commit, s.newest.commit}
}

// Position returns the position: exactly the transactions that end up to it are seen.
func (p *Pin) Position() LSN { return p.position }

// Relation returns columns of the rows that a table has at the pin, in any order: another call
// may return another one. A segment without deleted rows costs some vectors, one with few of them
// is cut into slices, and one with many is copied, on all cores. The relation is valid until Close, and must not be changed. Without
// columns, the segments only count rows. The error wraps ErrNotReady.
func (p *Pin) Relation(table uint32, columns []int) (joincore.Relation, error) {
	wanted := make([]Wanted, len(columns))
	for i, c := range columns {
		wanted[i].Column = c
	}
	relation, _, err := p.Read(table, Read{Columns: wanted})
	return relation, err
}

// Read is what is read of a table.
type Read struct {
	Columns []Wanted
	// More returns memory, of the size of extents, for copies when mirrors have none to spare. nil:
	// they lie in memory that other processes cannot read.
	More   func() ([]byte, error)
	Sample *Sample // nil: all rows
}

// Wanted is a column that is read: one of the table as it is stored, or a form that is made of it.
type Wanted struct {
	Column int
	Form   *encode.Derivation // nil: as it is stored
}

// Read is Relation of columns in other forms too, or of some of the rows. total is the number
// of all rows that the table has at the pin. The error wraps ErrNotReady, ErrTooLong, ErrMemory or
// encode.ErrUnfit, or is that of Read.More.
func (p *Pin) Read(table uint32, what Read) (relation joincore.Relation, total int64, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	r, parts, err := p.sees(table)
	if err != nil {
		return relation, 0, err
	}
	parts = slices.Clone(parts) // the view notes in them what it makes
	v := view{pin: p, columns: what.Columns, more: Divider{more: what.More}}
	for _, w := range what.Columns {
		if w.Column < 0 || w.Column >= len(r.columns) {
			return relation, 0, fmt.Errorf("column %d of %d: %w", w.Column, len(r.columns), joincore.ErrInvalid)
		}
		physical := r.columns[w.Column]
		v.stored = append(v.stored, physical)
		if w.Form != nil {
			physical = w.Form.Column()
		}
		v.relation.Columns = append(v.relation.Columns, physical)
	}
	if total, err = v.build(parts, what.Sample); err != nil {
		return relation, 0, err
	}
	return v.relation, total, nil
}

// parts takes hold of the segments of a table that have rows at the pin.
func (p *Pin) parts(table uint32) (*rows, []part, error) {
	if p.closed {
		return nil, nil, fmt.Errorf("%w: the pin is closed", ErrNotReady)
	}
	s := p.s
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.tables[table]
	switch {
	case t == nil:
		return nil, nil, fmt.Errorf("%w: table %d is not known", ErrNotReady, table)
	case t.state == StateFailed:
		return nil, nil, fmt.Errorf("%w: %w", ErrNotReady, t.err)
	case t.state != StateReady || t.from > p.commit:
		return nil, nil, fmt.Errorf("%w: %s.%s loads", ErrNotReady, t.Schema, t.Name)
	}
	r := t.rows
	parts := make([]part, 0, len(r.published.segments))
	p.held = slices.Grow(p.held, len(r.published.segments))
	for _, seg := range r.published.segments {
		n := seg.visible(p.commit)
		if n == 0 {
			continue
		}
		part := part{segment: seg, storage: seg.shown, rows: n, shown: seg.stored(), dead: seg.dead, deaths: seg.deathsAt(p.commit)}
		if seg.shown.vectors == nil {
			part.border = slices.Clone(seg.border)
		}
		parts = append(parts, part)
		seg.shown.refs++
		p.held = append(p.held, hold{r, seg.shown})
	}
	return r, parts, nil
}

// Close ends the pin: what it has returned must not be read any more. A second call does nothing.
func (p *Pin) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return
	}
	p.closed = true
	s := p.s
	s.arena.free(p.scratch)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, h := range p.held {
		h.rows.unref(h.storage)
	}
	p.held, p.kept, p.scratch = nil, nil, nil
	if p.older != nil {
		p.older.newer = p.newer
	} else {
		s.oldest = p.newer
		if s.blocked {
			s.wake()
		}
	}
	if p.newer != nil {
		p.newer.older = p.older
	} else {
		s.newest = p.older
	}
}

// take returns memory of n bytes until Close, in an extent, so that workers can read it; false:
// there is none.
func (p *Pin) take(n int) ([]byte, bool) {
	sp, err := p.s.arena.allocSpare(n)
	if err != nil {
		return nil, false
	}
	p.scratch = append(p.scratch, sp)
	return sp.data[:n:n], true
}

// keep keeps spans until Close, but for those of other memory.
func (p *Pin) keep(spans []span) {
	for _, s := range spans {
		if s.extent != nil {
			p.scratch = append(p.scratch, s)
		}
	}
}
