package textcodes

import (
	"slices"
	"sync"

	"gpujoin/joincore"
)

// Memo keeps the codes of columns whose values have contents (joincore.Vector) from one plan to
// the next, in memory of its own, with contents of their own: so neither are they computed again,
// nor do they cross the link again. It keeps those of columns that meet no other texts: there,
// equal values have equal codes, whatever the plan.
type Memo struct {
	memory *joincore.Account
	gone   func(contents []uint64)

	mu      sync.Mutex
	columns map[memoKey]*memoColumn // by each content of the source
	all     map[*memoColumn]struct{}
	clock   uint64
	last    uint64 // content
}

// Derived is the least content of codes. Contents of the daemon are smaller.
const Derived = 1 << 63

// mostKept is the most different values of a column whose codes are kept: the table of more of
// them is large, and grows with what is no longer in the column.
const mostKept = 1 << 16

// NewMemo returns an empty memo. It has no more memory when an allocation fails. gone is told
// contents of codes that are no longer kept, without a lock of the memo.
func NewMemo(memory *joincore.Account, gone func(contents []uint64)) *Memo {
	return &Memo{memory: memory, gone: gone, columns: map[memoKey]*memoColumn{}, all: map[*memoColumn]struct{}{}, last: Derived}
}

// memoKey is a source, and what of its values is numbered: their payloads, or their stored bytes.
type memoKey struct {
	content  uint64
	payloads bool
}

// memoColumn is the codes of a column. Its pieces have the same dictionary.
type memoColumn struct {
	dictionary *dictionary
	memory     *joincore.Account
	pieces     map[pieceKey]*memoPiece
	keys       []memoKey // by which it is found
	users      int       // plans that are executed
	used       uint64    // clock
	broken     bool      // it is not found any more, and freed when nobody uses it
	dropped    []*memoPiece
}

// pieceKey is rows [from, from+rows) of a content.
type pieceKey struct {
	content uint64
	from    int64
	rows    int
}

// memoPiece is the codes of some rows.
type memoPiece struct {
	values, validity []byte // validity nil: no NULLs
	content          uint64
}

func (p *memoPiece) vector() joincore.Vector {
	return joincore.Vector{Values: p.values, Validity: p.validity, Content: p.content}
}

// Used returns the bytes that the memo has.
func (m *Memo) Used() int64 { return m.memory.Used() }

// Drop forgets what was computed from contents that are gone.
func (m *Memo) Drop(contents []uint64) {
	m.mu.Lock()
	var gone []uint64
	for _, content := range contents {
		for _, payloads := range []bool{false, true} {
			key := memoKey{content, payloads}
			c := m.columns[key]
			if c == nil {
				continue
			}
			delete(m.columns, key)
			c.keys = slices.DeleteFunc(c.keys, func(k memoKey) bool { return k == key })
			for k, p := range c.pieces {
				if k.content == content {
					delete(c.pieces, k)
					c.dropped = append(c.dropped, p)
					gone = append(gone, p.content)
				}
			}
			if len(c.keys) == 0 {
				gone = append(gone, m.retire(c)...)
			}
			m.sweep(c)
		}
	}
	m.mu.Unlock()
	m.tell(gone)
}

func (m *Memo) tell(gone []uint64) {
	if len(gone) > 0 {
		m.gone(gone)
	}
}

// retire makes a column impossible to find, and returns its contents. The caller holds the lock.
func (m *Memo) retire(c *memoColumn) (gone []uint64) {
	for _, k := range c.keys {
		delete(m.columns, k)
	}
	for _, p := range c.pieces {
		gone = append(gone, p.content)
	}
	delete(m.all, c)
	c.keys, c.broken = nil, true
	return gone
}

// sweep frees what nobody can read any more. The caller holds the lock.
func (m *Memo) sweep(c *memoColumn) {
	if c.users > 0 {
		return
	}
	for _, p := range c.dropped {
		m.memory.Free(p.values)
		m.memory.Free(p.validity)
	}
	c.dropped = nil
	if c.broken {
		c.memory.Close()
	}
}

// evict frees the column that was used before all others, of those that nobody uses.
func (m *Memo) evict() bool {
	m.mu.Lock()
	var old *memoColumn
	for c := range m.all {
		if c.users == 0 && (old == nil || c.used < old.used) {
			old = c
		}
	}
	if old == nil {
		m.mu.Unlock()
		return false
	}
	gone := m.retire(old)
	m.sweep(old)
	m.mu.Unlock()
	m.tell(gone)
	return true
}

// memoUse is one plan's use of a memo. A nil one has nothing.
type memoUse struct {
	memo    *Memo
	columns map[*vocabulary]*memoColumn // of vocabularies of one column
	fresh   []*freshCodes
}

// freshCodes are codes that are being computed into memory of the memo.
type freshCodes struct {
	column *memoColumn
	key    pieceKey
	piece  *memoPiece
	kept   bool
}

// use finds or begins the columns of a plan.
func (m *Memo) use(r *rewriting, in []*joincore.Relation) *memoUse {
	if m == nil {
		return nil
	}
	columns := map[*vocabulary]int{}
	for _, list := range r.added {
		for _, a := range list {
			if a.kind == addedCode {
				columns[a.of.root()]++
			}
		}
	}
	for _, of := range r.listed {
		delete(columns, of.root())
	}
	for i := range r.selections {
		delete(columns, r.selections[i].of.root())
	}
	u := &memoUse{memo: m, columns: map[*vocabulary]*memoColumn{}}
	for input, list := range r.added {
		for _, a := range list {
			if a.kind != addedCode {
				continue
			}
			ref, ok := a.value.(joincore.ColumnRef)
			if of := a.of.root(); ok && !of.ordered && columns[of] == 1 {
				if c := m.column(in[input], ref.Column, of.payloads); c != nil {
					u.columns[of] = c
				}
			}
		}
	}
	return u
}

// column returns the codes of a column for a use, nil if most of its rows have no content.
func (m *Memo) column(r *joincore.Relation, column int, payloads bool) *memoColumn {
	named, rows := 0, 0
	var found *memoColumn
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := range r.Segments {
		s := &r.Segments[i]
		rows += s.Rows
		if content := s.Columns[column].Content; content != 0 {
			named += s.Rows
			if found == nil {
				found = m.columns[memoKey{content, payloads}]
			}
		}
	}
	if 2*named <= rows {
		return nil
	}
	if found == nil {
		found = &memoColumn{memory: joincore.NewAccount("codes", m.memory), pieces: map[pieceKey]*memoPiece{}}
		found.dictionary = newDictionary(found.memory)
		m.all[found] = struct{}{}
	}
	m.clock++
	found.used = m.clock
	found.users++
	return found
}

// of returns the codes of a vocabulary's column, nil if they are not kept.
func (u *memoUse) of(v *vocabulary) *memoColumn {
	if u == nil {
		return nil
	}
	return u.columns[v]
}

// vector returns where the codes of a source's rows are, and whether they are there already; ok
// is false if they are not kept.
func (u *memoUse) vector(c *memoColumn, source *joincore.Vector, rows int) (v joincore.Vector, there, ok bool) {
	if c == nil || source.Content == 0 || rows == 0 {
		return v, false, false
	}
	m, key := u.memo, pieceKey{source.Content, source.From, rows}
	m.mu.Lock()
	p := c.pieces[key]
	m.mu.Unlock()
	if p != nil {
		return p.vector(), true, true
	}
	values, err := m.alloc(c, int64(4*rows))
	if err != nil {
		return v, false, false
	}
	validity, err := m.alloc(c, int64((rows+7)/8))
	if err != nil {
		m.memory.Free(values)
		return v, false, false
	}
	u.fresh = append(u.fresh, &freshCodes{column: c, key: key, piece: &memoPiece{values: values, validity: validity}})
	return joincore.Vector{Values: values, Validity: validity}, false, true
}

// alloc returns memory for a column.
func (m *Memo) alloc(c *memoColumn, n int64) ([]byte, error) {
	for {
		b, err := c.memory.Alloc(n)
		if err == nil || !m.evict() {
			return b, err
		}
	}
}

// computed keeps codes that have been computed into a vector of the use, and names them.
func (u *memoUse) computed(v *joincore.Vector, nullable bool) {
	if u == nil || len(v.Values) == 0 {
		return
	}
	i := slices.IndexFunc(u.fresh, func(f *freshCodes) bool { return !f.kept && &f.piece.values[0] == &v.Values[0] })
	if i < 0 {
		return
	}
	f, m := u.fresh[i], u.memo
	m.mu.Lock()
	defer m.mu.Unlock()
	if f.column.broken || f.column.pieces[f.key] != nil {
		return // another plan was earlier; the memory stays until the use ends
	}
	f.kept = true
	if !nullable {
		m.memory.Free(f.piece.validity)
		f.piece.validity = nil
	}
	m.last++
	f.piece.content = m.last
	f.column.pieces[f.key] = f.piece
	if key := (memoKey{f.key.content, u.payloads(f.column)}); m.columns[key] == nil {
		m.columns[key] = f.column
		f.column.keys = append(f.column.keys, key)
	}
	*v = f.piece.vector()
}

// payloads reports what of the values a column's codes number.
func (u *memoUse) payloads(c *memoColumn) bool {
	for of, have := range u.columns {
		if have == c {
			return of.payloads
		}
	}
	return false
}

// end ends the use: what it has read may be freed. failed says that nothing of it is to be kept.
func (u *memoUse) end(failed bool) {
	if u == nil {
		return
	}
	m := u.memo
	m.mu.Lock()
	for _, f := range u.fresh {
		if !f.kept {
			m.memory.Free(f.piece.values)
			m.memory.Free(f.piece.validity)
		}
	}
	var gone []uint64
	for _, c := range u.columns {
		c.users--
		if !c.broken && (failed || len(c.pieces) == 0 || c.dictionary.values.Load() > mostKept) {
			gone = append(gone, m.retire(c)...)
		}
		m.sweep(c)
	}
	m.mu.Unlock()
	u.columns, u.fresh = nil, nil
	m.tell(gone)
}
