package textcodes

import (
	"encoding/binary"
	"slices"
	"sync"

	"gpujoin/joincore"
)

// Memo keeps the codes of columns whose values have contents (joincore.Vector), and truth values
// of conditions over such columns, from one plan to the next, in memory of its own, with contents
// of their own: so neither are they computed again, nor do they cross the link again. It keeps
// codes of columns that meet no other texts: there, equal values have equal codes, whatever the
// plan.
type Memo struct {
	memory *joincore.Account
	gone   func(contents []uint64)

	mu      sync.Mutex
	columns map[memoKey]*memoColumn // codes, by each content of the source
	truths  map[string]*memoColumn  // by the text of the condition
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
	return &Memo{memory: memory, gone: gone, columns: map[memoKey]*memoColumn{}, truths: map[string]*memoColumn{}, all: map[*memoColumn]struct{}{}, last: Derived}
}

// memoKey is a source, and what of its values is numbered: their payloads, or their stored bytes.
type memoKey struct {
	content  uint64
	payloads bool
}

// memoColumn is the codes of a column, whose pieces have the same dictionary, or the truth values
// of a condition.
type memoColumn struct {
	dictionary *dictionary // nil: of a condition
	payloads   bool        // what of the values the dictionary numbers
	condition  string
	memory     *joincore.Account
	pieces     map[pieceKey]*memoPiece
	keys       []memoKey // by which it is found
	users      int       // plans that are executed
	used       uint64    // clock
	broken     bool      // it is not found any more, and freed when nobody uses it
	dropped    []*memoPiece
}

// pieceKey is rows [from, from+rows) of a content, and, of a condition over several columns, the
// rows of the others that belong to them: 16 bytes each.
type pieceKey struct {
	content uint64
	from    int64
	rows    int
	others  string
}

// keyOf returns the key of some columns' rows in a segment; ok is false if one has no content.
func keyOf(s *joincore.Segment, columns []int) (k pieceKey, ok bool) {
	var others []byte
	for i, c := range columns {
		v := &s.Columns[c]
		if v.Content == 0 {
			return k, false
		}
		if i == 0 {
			k = pieceKey{content: v.Content, from: v.From, rows: s.Rows}
			continue
		}
		others = binary.LittleEndian.AppendUint64(others, v.Content)
		others = binary.LittleEndian.AppendUint64(others, uint64(v.From))
	}
	k.others = string(others)
	return k, s.Rows > 0
}

// isOf reports whether the rows are of one of some contents.
func (k *pieceKey) isOf(contents map[uint64]bool) bool {
	found := contents[k.content]
	for at := 0; at < len(k.others); at += 16 {
		found = found || contents[binary.LittleEndian.Uint64([]byte(k.others[at:at+8]))]
	}
	return found
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
	set := map[uint64]bool{}
	for _, content := range contents {
		set[content] = true
	}
	m.mu.Lock()
	var gone []uint64
	for c := range m.all {
		for k, p := range c.pieces {
			if k.isOf(set) {
				delete(c.pieces, k)
				c.dropped = append(c.dropped, p)
				gone = append(gone, p.content)
			}
		}
		c.keys = slices.DeleteFunc(c.keys, func(k memoKey) bool {
			if set[k.content] {
				delete(m.columns, k)
			}
			return set[k.content]
		})
		if len(c.dropped) > 0 && len(c.pieces) == 0 {
			m.retire(c)
		}
		m.sweep(c)
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
	if m.truths[c.condition] == c {
		delete(m.truths, c.condition)
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
	columns map[addedAt]usedColumn
	of      map[*vocabulary]*memoColumn // of vocabularies of one column
	fresh   []*freshCodes
}

// addedAt is the place of an added column: its input, and its number among those added there.
type addedAt struct{ input, number int }

// usedColumn is a column of the memo with the columns of the input that it is computed from.
type usedColumn struct {
	*memoColumn
	sources []int
}

// freshCodes are codes that are being computed into memory of the memo.
type freshCodes struct {
	column *memoColumn
	key    pieceKey
	piece  *memoPiece
	kept   bool
}

// ownCodes are the vocabularies whose texts meet no others, with the number of columns of each: a
// memo keeps the codes of those of one column.
type ownCodes map[*vocabulary]int

// own returns the vocabularies of a plan's added columns that are no part of anything else.
func (r *rewriting) own() ownCodes {
	columns := ownCodes{}
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
	return columns
}

// sources returns the columns that an added one is computed from, nil if a memo does not keep it.
func (o ownCodes) sources(a added) (columns []int) {
	switch a.kind {
	case addedCode:
		if ref, ok := a.value.(joincore.ColumnRef); ok && !a.of.root().ordered && o[a.of.root()] == 1 {
			return []int{ref.Column}
		}
	case addedTruth:
		for _, c := range joincore.Columns(a.value) {
			if !slices.Contains(columns, c.Column) {
				columns = append(columns, c.Column)
			}
		}
	}
	return columns
}

// mostNamed reports whether most rows have contents in all of some columns.
func mostNamed(r *joincore.Relation, sources []int) bool {
	named, rows := 0, 0
	for i := range r.Segments {
		s := &r.Segments[i]
		rows += s.Rows
		if !slices.ContainsFunc(sources, func(c int) bool { return c >= len(s.Columns) || s.Columns[c].Content == 0 }) {
			named += s.Rows
		}
	}
	return 2*named > rows
}

// use finds or begins the columns of a plan.
func (m *Memo) use(r *rewriting, in []*joincore.Relation, parameters []joincore.Parameter) *memoUse {
	if m == nil {
		return nil
	}
	own := r.own()
	u := &memoUse{memo: m, columns: map[addedAt]usedColumn{}, of: map[*vocabulary]*memoColumn{}}
	for input, list := range r.added {
		for i, a := range list {
			at := addedAt{input, i}
			switch a.kind {
			case addedCode:
				sources, of := own.sources(a), a.of.root()
				if sources == nil {
					continue
				}
				if c := m.column(in[input], sources, of.payloads, ""); c != nil {
					u.columns[at], u.of[of] = usedColumn{c, sources}, c
				}
			case addedTruth:
				text, sources := describe(a.value, in[input].Columns, parameters)
				if len(sources) == 0 {
					continue
				}
				if c := m.column(in[input], sources, false, text); c != nil {
					u.columns[at] = usedColumn{c, sources}
				}
			}
		}
	}
	return u
}

// column returns the codes of a column, or the truth values of a condition with a text, for a
// use; nil if most of its rows have no content.
func (m *Memo) column(r *joincore.Relation, sources []int, payloads bool, condition string) *memoColumn {
	if !mostNamed(r, sources) {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	found := m.truths[condition]
	for i := 0; found == nil && condition == "" && i < len(r.Segments); i++ {
		if v := &r.Segments[i].Columns[sources[0]]; v.Content != 0 {
			found = m.columns[memoKey{v.Content, payloads}]
		}
	}
	if found == nil {
		found = &memoColumn{memory: joincore.NewAccount("codes", m.memory), pieces: map[pieceKey]*memoPiece{}, payloads: payloads, condition: condition}
		if condition == "" {
			found.dictionary = newDictionary(found.memory)
		} else {
			m.truths[condition] = found
		}
		m.all[found] = struct{}{}
	}
	m.clock++
	found.used = m.clock
	found.users++
	return found
}

// dictionary returns that of a vocabulary's column, nil if its codes are not kept.
func (u *memoUse) dictionary(v *vocabulary) *dictionary {
	if u == nil || u.of[v] == nil {
		return nil
	}
	return u.of[v].dictionary
}

// vector returns where the values of an added column are for the rows of a segment, of some bytes
// each, and whether they are there already; ok is false if they are not kept.
func (u *memoUse) vector(at addedAt, s *joincore.Segment, width int) (v joincore.Vector, there, ok bool) {
	if u == nil || u.columns[at].memoColumn == nil {
		return v, false, false
	}
	c := u.columns[at]
	key, ok := keyOf(s, c.sources)
	if !ok {
		return v, false, false
	}
	m, rows := u.memo, s.Rows
	m.mu.Lock()
	p := c.pieces[key]
	m.mu.Unlock()
	if p != nil {
		return p.vector(), true, true
	}
	values, err := m.alloc(c.memoColumn, int64(width*rows))
	if err != nil {
		return v, false, false
	}
	validity, err := m.alloc(c.memoColumn, int64((rows+7)/8))
	if err != nil {
		m.memory.Free(values)
		return v, false, false
	}
	u.fresh = append(u.fresh, &freshCodes{column: c.memoColumn, key: key, piece: &memoPiece{values: values, validity: validity}})
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
	if key := (memoKey{f.key.content, f.column.payloads}); f.column.dictionary != nil && m.columns[key] == nil {
		m.columns[key] = f.column
		f.column.keys = append(f.column.keys, key)
	}
	*v = f.piece.vector()
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
		if !c.broken && (failed || len(c.pieces) == 0 || c.dictionary != nil && c.dictionary.values.Load() > mostKept) {
			gone = append(gone, m.retire(c.memoColumn)...)
		}
		m.sweep(c.memoColumn)
	}
	m.mu.Unlock()
	u.columns, u.of, u.fresh = nil, nil, nil
	m.tell(gone)
}
