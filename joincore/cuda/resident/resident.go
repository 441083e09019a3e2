// Package resident decides which columns stay in the memory of a device from one execution to
// the next, and finds rows in them by their contents (joincore.Vector). It knows neither the
// device nor its memory: an entry is one column as an execution has brought it, dense, with
// whatever else its reader needs as Data, and with a function that frees it.
//
// An entry is pinned while an execution reads it. Entries that are not pinned are freed, least
// recently used first, to keep the limit and when an execution needs their memory; those that
// are pinned, when the last execution has read them. An entry is also freed when most of its
// rows are of contents that are gone, or when newer entries have all rows that are not.
package resident

import (
	"slices"
	"sync"
)

// Piece is rows [From, From+Rows) of a content. Content 0: rows that have no name, which an
// entry may have between others.
type Piece struct {
	Content    uint64
	From, Rows int64
}

// Entry is the rows of some pieces, one behind the other.
type Entry[D any] struct {
	Data  D
	bytes int64
	rows  int64
	live  int64 // rows that are found by their content
	free  func()
	pins  int
	used  uint64 // clock of the last use
	gone  bool   // nothing of it is found any more
	named []namedPiece
}

// namedPiece is a piece of an entry that has a content, and its first row there.
type namedPiece struct {
	Piece
	row int64
}

// Run is rows [Row, Row+Rows) of an entry, which are wanted as rows [At, At+Rows).
type Run[D any] struct {
	Entry         *Entry[D]
	Row, Rows, At int64
}

// place is where rows of a content are.
type place[D any] struct {
	entry      *Entry[D]
	from, rows int64 // of the content
	row        int64 // of the entry
	named      int   // number of the piece in entry.named
}

// Cache is what stays on one device. It is safe for concurrent use. It calls functions that
// free entries without its lock.
type Cache[D any] struct {
	limit int64

	mu      sync.Mutex
	entries map[*Entry[D]]struct{} // that are found
	places  map[uint64][]place[D]  // by content, the newest last
	bytes   int64                  // of all entries that are not freed
	clock   uint64
	version uint64 // changes with what Contents returns
}

// New returns an empty cache for the given number of bytes. 0: nothing stays.
func New[D any](limit int64) *Cache[D] {
	return &Cache[D]{limit: limit, entries: map[*Entry[D]]struct{}{}, places: map[uint64][]place[D]{}, version: 1}
}

// Limit returns how many bytes may stay.
func (c *Cache[D]) Limit() int64 { return c.limit }

// Bytes returns how many bytes entries have.
func (c *Cache[D]) Bytes() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.bytes
}

// Found is what a cache has of some pieces, pinned until Release.
type Found[D any] struct {
	Runs []Run[D] // in order of At, as few as there are
	// Named is how many rows of the pieces have a content; the rows of all runs are at most as
	// many.
	Named int64
	cache *Cache[D]
	next  int // the number in the last run's entry of the piece behind the run
}

// Entries returns in how many entries the runs are.
func (f *Found[D]) Entries() int { return len(f.entries()) }

// Rows returns the rows of all runs.
func (f *Found[D]) Rows() (n int64) {
	for _, r := range f.Runs {
		n += r.Rows
	}
	return n
}

// Find returns what there is of some pieces, in the order of the pieces.
func (c *Cache[D]) Find(pieces []Piece) Found[D] {
	c.mu.Lock()
	defer c.mu.Unlock()
	out, at := Found[D]{cache: c}, int64(0)
	for _, p := range pieces {
		if p.Content != 0 && p.Rows > 0 {
			out.Named += p.Rows
			if !out.follow(p, at) {
				out.add(c.places[p.Content], p, at)
			}
		}
		at += p.Rows
	}
	c.clock++
	for _, e := range out.entries() {
		e.pins++
		e.used = c.clock
	}
	return out
}

// follow adds the rows of a piece to the last run, if the piece follows it in its entry. Most
// pieces do, in the order in which they were brought: for these, nothing has to be looked up.
func (f *Found[D]) follow(p Piece, at int64) bool {
	if len(f.Runs) == 0 {
		return false
	}
	last := &f.Runs[len(f.Runs)-1]
	if f.next >= len(last.Entry.named) {
		return false
	}
	q := &last.Entry.named[f.next]
	if p.Content != q.Content || p.From != q.From || p.Rows != q.Rows || last.Row+last.Rows != q.row || last.At+last.Rows != at {
		return false
	}
	last.Rows += p.Rows
	f.next++
	return true
}

// add adds the rows of a piece that are at a place. A place that continues the last run comes
// before newer ones.
func (f *Found[D]) add(places []place[D], p Piece, at int64) {
	for i := len(places) - 1; i >= 0; i-- {
		q := &places[i]
		if p.From < q.from || p.From+p.Rows > q.from+q.rows {
			continue
		}
		r := Run[D]{q.entry, q.row + p.From - q.from, p.Rows, at}
		last := len(f.Runs) - 1
		if last >= 0 && f.Runs[last].continues(&r) {
			f.Runs[last].Rows += r.Rows
			f.next = q.named + 1
			return
		}
		for _, o := range places[:i] {
			s := Run[D]{o.entry, o.row + p.From - o.from, p.Rows, at}
			if last >= 0 && p.From >= o.from && p.From+p.Rows <= o.from+o.rows && f.Runs[last].continues(&s) {
				f.Runs[last].Rows += s.Rows
				f.next = o.named + 1
				return
			}
		}
		f.Runs = append(f.Runs, r)
		f.next = q.named + 1
		return
	}
}

// continues reports whether o follows r, both where it lies and where it is wanted.
func (r *Run[D]) continues(o *Run[D]) bool {
	return r.Entry == o.Entry && r.Row+r.Rows == o.Row && r.At+r.Rows == o.At
}

// entries returns the entries of the runs, each once.
func (f *Found[D]) entries() (list []*Entry[D]) {
	for _, r := range f.Runs {
		if !slices.Contains(list, r.Entry) {
			list = append(list, r.Entry)
		}
	}
	return list
}

// Release ends the reading of what was found.
func (f *Found[D]) Release() {
	if f.cache == nil || len(f.Runs) == 0 {
		return
	}
	list := f.entries()
	f.Runs = nil
	f.cache.change(func() (freed []*Entry[D]) {
		for _, e := range list {
			if e.pins--; e.pins == 0 && e.gone {
				freed = append(freed, e)
			}
		}
		return freed
	})
}

// change changes the cache and frees entries that nobody reads any more.
func (c *Cache[D]) change(f func() (freed []*Entry[D])) {
	c.mu.Lock()
	freed := f()
	for _, e := range freed {
		c.bytes -= e.bytes
	}
	c.mu.Unlock()
	for _, e := range freed {
		e.free()
	}
}

// Add adds an entry of the rows of some pieces, which free frees. It reports false, and free is
// not called, if the entry is no gain: it is too large for the limit or for what others read, or
// more than half of its rows have no content. The caller looks before whether all rows are there
// already.
func (c *Cache[D]) Add(pieces []Piece, bytes int64, data D, free func()) (added bool) {
	e := &Entry[D]{Data: data, bytes: bytes, free: free}
	for _, p := range pieces {
		if e.rows += p.Rows; p.Content != 0 {
			e.live += p.Rows
		}
	}
	if bytes > c.limit || e.live == 0 || 2*e.live < e.rows {
		return false
	}
	c.change(func() (freed []*Entry[D]) {
		if c.pinned()+bytes > c.limit {
			return nil
		}
		added = true
		c.clock++
		e.used = c.clock
		c.enter(e, pieces)
		over := c.bytes - c.limit
		for old := range c.sharing(pieces, e) {
			if c.superfluous(old) {
				if freed = c.retire(old, freed); old.pins == 0 {
					over -= old.bytes
				}
			}
		}
		e.pins++
		for over > 0 { // what is read leaves enough
			old := c.oldest(nil)
			over -= old.bytes
			freed = c.retire(old, freed)
		}
		e.pins--
		return freed
	})
	return added
}

// pinned returns the bytes of the entries that are read.
func (c *Cache[D]) pinned() int64 {
	n := c.bytes
	for e := range c.entries {
		if e.pins == 0 {
			n -= e.bytes
		}
	}
	return n
}

// enter makes the rows of an entry findable.
func (c *Cache[D]) enter(e *Entry[D], pieces []Piece) {
	row := int64(0)
	for _, p := range pieces {
		if p.Content != 0 {
			c.places[p.Content] = append(c.places[p.Content], place[D]{e, p.From, p.Rows, row, len(e.named)})
			e.named = append(e.named, namedPiece{p, row})
		}
		row += p.Rows
	}
	c.entries[e] = struct{}{}
	c.bytes += e.bytes
	c.version++
}

// sharing returns the entries but e that have rows of the contents of some pieces.
func (c *Cache[D]) sharing(pieces []Piece, e *Entry[D]) map[*Entry[D]]struct{} {
	out := map[*Entry[D]]struct{}{}
	for _, p := range pieces {
		for _, q := range c.places[p.Content] {
			if q.entry != e {
				out[q.entry] = struct{}{}
			}
		}
	}
	return out
}

// superfluous reports whether newer entries have all rows of an entry that are not gone.
func (c *Cache[D]) superfluous(e *Entry[D]) bool {
	for _, p := range e.named {
		places := c.places[p.Content]
		own := slices.IndexFunc(places, func(q place[D]) bool { return q.entry == e })
		if own >= 0 && !slices.ContainsFunc(places[own+1:], func(q place[D]) bool {
			return q.entry != e && q.from <= p.From && p.From+p.Rows <= q.from+q.rows
		}) {
			return false
		}
	}
	return true
}

// retire forgets an entry, and adds it to those that are to be freed if nobody reads it.
func (c *Cache[D]) retire(e *Entry[D], freed []*Entry[D]) []*Entry[D] {
	c.forget(e)
	if e.pins == 0 {
		freed = append(freed, e)
	}
	return freed
}

// forget makes an entry impossible to find.
func (c *Cache[D]) forget(e *Entry[D]) {
	for _, p := range e.named {
		list := slices.DeleteFunc(c.places[p.Content], func(q place[D]) bool { return q.entry == e })
		if c.places[p.Content] = list; len(list) == 0 {
			delete(c.places, p.Content)
		}
	}
	delete(c.entries, e)
	e.gone = true
	c.version++
}

// oldest returns the entry that was used before all others, of those that nobody reads and that
// match; nil: there is none.
func (c *Cache[D]) oldest(match func(D) bool) (old *Entry[D]) {
	for e := range c.entries {
		if e.pins == 0 && (old == nil || e.used < old.used) && (match == nil || match(e.Data)) {
			old = e
		}
	}
	return old
}

// Evict frees the entry that was used before all others, of those that nobody reads and that
// match. It reports whether there was one.
func (c *Cache[D]) Evict(match func(D) bool) (evicted bool) {
	c.change(func() []*Entry[D] {
		old := c.oldest(match)
		if old == nil {
			return nil
		}
		evicted = true
		return c.retire(old, nil)
	})
	return evicted
}

// Drop forgets contents that are gone. Entries with little else are freed.
func (c *Cache[D]) Drop(contents []uint64) {
	touched := map[*Entry[D]]struct{}{}
	c.change(func() (freed []*Entry[D]) {
		for _, content := range contents {
			places := c.places[content]
			if len(places) == 0 {
				continue
			}
			delete(c.places, content)
			c.version++
			for _, q := range places {
				q.entry.live -= q.rows
				touched[q.entry] = struct{}{}
			}
		}
		for e := range touched {
			if 2*e.live < e.rows || c.superfluous(e) {
				freed = c.retire(e, freed)
			}
		}
		return freed
	})
}

// Holds reports whether there are rows of a content.
func (c *Cache[D]) Holds(content uint64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.places[content]) > 0
}

// Version returns a number, not 0, that changes whenever Contents would return something else.
func (c *Cache[D]) Version() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.version
}

// Contents calls visit with each content and the bytes that its rows take.
func (c *Cache[D]) Contents(visit func(content uint64, bytes int64)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for content, places := range c.places {
		n := int64(0)
		for _, q := range places {
			n += q.entry.bytes * q.rows / max(q.entry.rows, 1)
		}
		visit(content, n)
	}
}
