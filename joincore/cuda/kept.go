//go:build cuda

package cuda

import (
	"cmp"
	"context"
	"slices"

	"gpujoin/joincore"
	"gpujoin/joincore/cuda/driver"
	"gpujoin/joincore/cuda/resident"
	"gpujoin/joincore/cuda/rowid"
)

// residentColumn is a column that stays on the device after the execution that has brought it,
// in the heap of that execution's workspace.
type residentColumn struct {
	rowid.Column
	texts  bool // Values are spans, which point into blocks
	in     *workspace
	blocks []span
}

// stride returns the bytes of a row's value.
func (c *residentColumn) stride() int64 {
	if c.texts {
		return rowid.SpanBytes
	}
	return int64(c.Width)
}

// keptColumn is a column of an input with rows that have a content.
type keptColumn struct {
	first   int64            // row of the input
	pieces  []resident.Piece // of the rows from there on, one for each segment
	found   resident.Found[*residentColumn]
	memory  rowid.Owned // of brought
	brought *column     // of all rows, by this execution; nil: not, or in the view's own memory
}

// findKept finds what the device has of columns of some rows, from the given row of their input on, nil
// for those without a content. It stays until the execution ends.
func (e *execution) findKept(r *joincore.Relation, first int64) []*keptColumn {
	out := make([]*keptColumn, len(r.Columns))
	cache := e.workspace.gpu.resident
	if cache.Limit() == 0 {
		return out
	}
	for j := range r.Columns {
		named := slices.ContainsFunc(r.Segments, func(s joincore.Segment) bool { return s.Columns[j].Content != 0 })
		if !named {
			continue
		}
		k := &keptColumn{first: first, memory: rowid.Owned{Memory: e.workspace}, pieces: make([]resident.Piece, 0, len(r.Segments))}
		for i := range r.Segments {
			v := &r.Segments[i].Columns[j]
			k.pieces = append(k.pieces, resident.Piece{Content: v.Content, From: v.From, Rows: int64(r.Segments[i].Rows)})
		}
		k.found = cache.Find(k.pieces)
		out[j] = k
	}
	return out
}

// rows returns how many rows of the column the device has.
func (k *keptColumn) rows() int64 {
	if k == nil {
		return 0
	}
	return k.found.Rows()
}

// stays reports whether the column stays on the device if this execution brings all its rows:
// rows with a content are missing, or lie in several entries and there are no other rows.
func (k *keptColumn) stays(rows int64) bool {
	if k == nil || 2*k.found.Named < rows {
		return false
	}
	have := k.found.Rows()
	return have < k.found.Named || k.found.Entries() > 1 && have == rows
}

// runs returns what the device has of rows [first, first+n) of the input, as rows from 0 on.
func (k *keptColumn) runs(first, n int64) (out []resident.Run[*residentColumn]) {
	if k == nil {
		return nil
	}
	first -= k.first
	for _, r := range k.found.Runs {
		low, high := max(r.At, first), min(r.At+r.Rows, first+n)
		if low < high {
			out = append(out, resident.Run[*residentColumn]{Entry: r.Entry, Row: r.Row + low - r.At, Rows: high - low, At: low - first})
		}
	}
	return out
}

// kept returns what is known of a column of the view's rows; nil: nothing.
func (v *view) kept(j int) *keptColumn {
	if v.source != nil || v.derived != nil || j >= len(v.keeps) {
		return nil
	}
	return v.keeps[j]
}

// missing returns how many rows of a column have to be brought to the device.
func (v *view) missing(j int) int64 {
	n := v.rows
	for _, r := range v.kept(j).runs(v.first(), v.rows) {
		n -= r.Rows
	}
	return n
}

// brings reports whether the view brings a column that stays.
func (v *view) brings(j int) bool { return v.whole && v.kept(j).stays(v.rows) }

// take allocates memory for a column: of its own if it stays on the device.
func (v *view) take(j int, bytes int64) (driver.Ptr, error) {
	if v.brings(j) {
		return v.keeps[j].memory.Alloc(bytes)
	}
	return v.Alloc(bytes)
}

// settled notes whether the load of a column has succeeded.
func (v *view) settled(j int, c *column, err error) {
	switch {
	case !v.brings(j):
	case err != nil:
		v.keeps[j].memory.Release()
	case v.keeps[j].memory.Len() > 0:
		v.keeps[j].brought = c
	}
}

// keepsAll reports whether all columns that a view does not have yet stay on the device when it
// has brought them: then it brings them whole, once.
func (e *execution) keepsAll(v *view, columns []int) bool {
	bytes := int64(0)
	for _, j := range columns {
		if v.there(j) {
			continue
		}
		if !v.brings(j) {
			return false
		}
		bytes += v.Bytes([]int{j})
	}
	return bytes <= min(e.workspace.gpu.resident.Limit(), e.workspace.arena.Free()/3)
}

// inDevice returns a column that lies somewhere on the device in one piece. Kernels read some
// columns in wide words, so it begins as memory that was allocated does.
func (v *view) inDevice(j int) (c rowid.Column, ok bool) {
	runs := v.kept(j).runs(v.first(), v.rows)
	if len(runs) != 1 || runs[0].Rows != v.rows {
		return c, false
	}
	r := &runs[0]
	c = at(r.Entry.Data, r.Row)
	if (c.Values|c.Validity)%driver.Line != 0 {
		return c, false
	}
	if !v.input.Nullable(j) {
		c.Validity = 0
	}
	return c, true
}

// at returns a column from the given row on.
func at(c *residentColumn, row int64) rowid.Column {
	out := c.Column
	out.Values += driver.Ptr(row * c.stride())
	if out.Validity != 0 {
		out.Validity += driver.Ptr(row)
	}
	return out
}

// loadKept queues copies of the values that lie on the device, and of the validity of these rows.
func (v *view) loadKept(runs []resident.Run[*residentColumn], c *column) error {
	st := v.workspace.upload.stream
	for _, r := range runs {
		from := at(r.Entry.Data, r.Row)
		if err := st.Copy(c.Values+driver.Ptr(r.At*int64(c.Width)), from.Values, r.Rows*int64(c.Width)); err != nil {
			return err
		}
		if c.Validity == 0 {
			continue
		}
		valid, err := c.Validity+driver.Ptr(r.At), error(nil)
		if from.Validity == 0 {
			err = st.Memset(valid, 1, r.Rows)
		} else {
			err = st.Copy(valid, from.Validity, r.Rows)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// eachMissing visits the view's segments whose rows are in none of the runs.
func (v *view) eachMissing(runs []resident.Run[*residentColumn], visit func(s *joincore.Segment, first int64) error) error {
	return v.eachSegment(func(s *joincore.Segment, first int64) error {
		i, _ := slices.BinarySearchFunc(runs, first+1, func(r resident.Run[*residentColumn], row int64) int { return cmp.Compare(r.At, row) })
		if i > 0 && first < runs[i-1].At+runs[i-1].Rows {
			return nil
		}
		return visit(s, first)
	})
}

// makeRoom frees columns that nobody reads, if an input is likely to need their memory: three
// times what it brings, and as much again as it finds.
func (e *execution) makeRoom(in *input) {
	cache, n := e.workspace.gpu.resident, int64(0)
	for j, c := range in.Relation.Columns {
		if c.Kind == joincore.Fixed {
			n += int64(c.Width) * (3*in.own.rows - 2*in.keeps[j].rows())
		}
	}
	e.need += n
	for e.workspace.arena.Free() < e.need && cache.Evict(e.workspace.owns) {
	}
}

// owns reports whether a column lies in the workspace.
func (s *workspace) owns(c *residentColumn) bool { return c.in == s }

// relieve frees the column of the workspace that was used before all others and that nobody
// reads. It reports whether there was one.
func (s *workspace) relieve() bool { return s.gpu.resident.Evict(s.owns) }

// bringing is a column that an execution has brought and that may stay.
type bringing struct {
	*keptColumn
	column *residentColumn
}

// brought returns the columns that the execution has brought and that may stay.
func (e *execution) brought() (list []bringing) {
	for number, in := range e.inputs {
		if in == nil {
			continue
		}
		for j, k := range in.keeps {
			if k == nil || k.brought == nil {
				continue
			}
			texts := e.describe(joincore.ColumnRef{Input: number, Column: j}).Kind == joincore.Varlena
			c := &residentColumn{Column: k.brought.Column, texts: texts, in: e.workspace}
			k.memory.Each(func(at driver.Ptr, bytes int64) { c.blocks = append(c.blocks, span{int64(at), driver.Lines(bytes)}) })
			list = append(list, bringing{k, c})
		}
	}
	return list
}

// keepColumns frees all memory of the workspace but that of columns that stay, to which it adds those
// that the execution has brought. All its work is done.
func (e *execution) keepColumns() error {
	w, list := e.workspace, e.brought()
	for _, b := range list {
		w.keep(b.column)
	}
	w.empty()
	for _, b := range list {
		if err := w.settle(b.column); err != nil {
			return err
		}
	}
	if len(list) > 0 {
		if err := w.upload.stream.Sync(context.Background()); err != nil {
			return err
		}
	}
	for _, b := range list { // others find it from now on
		if c := b.column; !w.gpu.resident.Add(b.pieces, c.bytes(), c, func() { w.drop(c) }) {
			w.drop(c)
		}
	}
	return nil
}

// bytes returns what the column takes.
func (c *residentColumn) bytes() (n int64) {
	for _, b := range c.blocks {
		n += b.bytes
	}
	return n
}

// settle moves a column that nobody has found yet to the end of the heap, if there is room, so
// that the memory in front of it is in one piece. The spans of texts are addresses, so texts
// stay where they are.
func (s *workspace) settle(c *residentColumn) error {
	if c.texts {
		return nil
	}
	for i, b := range c.blocks {
		to, ok := s.move(b)
		if !ok {
			continue
		}
		if err := s.upload.stream.Copy(driver.Ptr(to.at), driver.Ptr(b.at), b.bytes); err != nil {
			return err
		}
		c.blocks[i] = to
		if c.Values == driver.Ptr(b.at) {
			c.Values = driver.Ptr(to.at)
		} else {
			c.Validity = driver.Ptr(to.at)
		}
	}
	return nil
}

// move returns free memory behind a block that stays, and frees the block: whoever gets its
// memory comes after the stream of uploads.
func (s *workspace) move(b span) (to span, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at, ok := s.heap.behind(b.at, b.bytes)
	if !ok {
		return b, false
	}
	to = span{at, b.bytes}
	s.resident[slices.Index(s.resident, b)] = to
	s.heap.release(b.at, b.bytes)
	return to, true
}

// keep makes the memory of a column outlive the execution.
func (s *workspace) keep(c *residentColumn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.resident = append(s.resident, c.blocks...)
}

// drop frees the memory of a column that stayed.
func (s *workspace) drop(c *residentColumn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, b := range c.blocks {
		i := slices.Index(s.resident, b)
		s.resident = slices.Delete(s.resident, i, i+1)
		s.heap.release(b.at, b.bytes)
	}
}

// releaseKept ends the reading of what the device had before.
func (e *execution) releaseKept() {
	for _, in := range e.inputs {
		if in == nil {
			continue
		}
		for _, k := range in.keeps {
			if k != nil {
				k.found.Release()
			}
		}
	}
}

// Drop forgets contents that are gone.
func (p *Provider) Drop(contents []uint64) { p.resident.Drop(contents) }

// Holds reports whether rows of a content stay on the device.
func (p *Provider) Holds(content uint64) bool { return p.resident.Holds(content) }

// Resident returns the bytes of the columns that stay on the device.
func (p *Provider) Resident() int64 { return p.resident.Bytes() }

// ResidentLimit returns how many bytes may stay there.
func (p *Provider) ResidentLimit() int64 { return p.resident.Limit() }

// ContentsVersion returns a number, not 0, that changes with what Contents visits.
func (p *Provider) ContentsVersion() uint64 { return p.resident.Version() }

// Contents visits the contents of which rows stay on the device, with the bytes that these take.
func (p *Provider) Contents(visit func(content uint64, bytes int64)) { p.resident.Contents(visit) }
