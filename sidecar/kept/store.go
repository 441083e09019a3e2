package kept

import (
	"sync"
	"time"
)

// Store is all that is kept. All methods of a store and of its leases are safe for concurrent
// use.
type Store struct {
	options Options

	mu        sync.Mutex
	arena     arena // what is kept
	scratch   arena // of leases
	tables    map[Table]*table
	current   map[identity]*table // the newest file of each table with a name
	directory int64               // bytes of layouts and pieces
	pieces    int                 // in the directory or leased
	pending   []*copying          // what Work has to copy
	dropped   []*batch            // what Work has to release
	copying   *copying            // what it does now; nil: nothing
	capturing map[*Lease]struct{} // the leases that capture, until they end
	counters  Counters
	now       time.Time // of the newest request

	work    sync.Mutex    // held while a chunk is copied
	waiting chan struct{} // wakes Work
}

// identity names a table whatever file it has.
type identity struct {
	system   uint64
	database uint32
	name     string
}

const defaultInterest = time.Hour

// New returns an empty store. Options.Limit 0 keeps nothing.
func New(m Memory, o Options) *Store {
	if o.Interest <= 0 {
		o.Interest = defaultInterest
	}
	return &Store{
		options: o, arena: newArena(m), scratch: newArena(m),
		tables: map[Table]*table{}, current: map[identity]*table{}, capturing: map[*Lease]struct{}{}, waiting: make(chan struct{}, 1),
	}
}

// held returns the bytes that count towards the limit. The caller holds the lock.
func (s *Store) held() int64 { return s.arena.bytes() + s.scratch.bytes() + s.directory }

// mostIdle is the number of tables of which nothing is kept that the store remembers, to know
// a second use.
const mostIdle = 4096

// table returns what the directory has of a table.
func (s *Store) table(r *Request) *table {
	if r.Now.After(s.now) {
		s.now = r.Now
	}
	t := s.tables[r.Table]
	if t == nil {
		if len(s.tables) >= mostIdle {
			s.forgetIdle(r.Now)
		}
		t = &table{key: r.Table, groups: map[int]*group{}}
		s.tables[r.Table] = t
	}
	t.name, t.blocks, t.superseded = r.Name, r.Blocks, false
	s.supersede(t)
	return t
}

// supersede records that a table has the file of t now. What is kept of the file before is of
// use only if a transaction that rewrote the table is rolled back: it is the first to be
// evicted. The new file inherits how often the columns were used, so a rewrite does not delay
// its capture.
func (s *Store) supersede(t *table) {
	if t.name == "" {
		return
	}
	id := identity{t.key.System, t.key.Database, t.name}
	old := s.current[id]
	if old == t {
		return
	}
	s.current[id] = t
	if old == nil {
		return
	}
	old.superseded = true
	if len(t.columns) == 0 {
		for _, c := range old.columns {
			t.columns = append(t.columns, &column{Column: c.Column, table: t, uses: c.uses})
		}
	}
}

// forgetIdle drops tables of which nothing is kept and that were not used within the interest;
// if there are none, the one that was not used for the longest time.
func (s *Store) forgetIdle(now time.Time) {
	var oldest *table
	for _, t := range s.tables {
		if t.leases > 0 || !t.bare() {
			continue
		}
		if now.Sub(t.uses.last) > s.options.Interest {
			s.forgetTable(t)
		} else if oldest == nil || t.uses.last.Before(oldest.uses.last) {
			oldest = t
		}
	}
	if oldest != nil && len(s.tables) >= mostIdle {
		s.forgetTable(oldest)
	}
}

// forgetTable takes a table and all its pieces out of the directory.
func (s *Store) forgetTable(t *table) (freed int64) {
	t.each(func(_ int, p *piece) {
		freed += p.bytes
		s.remove(p)
	})
	t.forgotten = true
	delete(s.tables, t.key)
	if id := (identity{t.key.System, t.key.Database, t.name}); s.current[id] == t {
		delete(s.current, id)
	}
	return freed
}

// each calls f with all pieces of the table and the numbers of their chunks.
func (t *table) each(f func(chunk int, p *piece)) {
	for number, g := range t.groups {
		for i, c := range g.chunks {
			if c == nil {
				continue
			}
			for _, p := range c.pieces {
				if p != nil {
					f(number*groupChunks+i, p)
				}
			}
		}
	}
}

// bare reports whether nothing is kept of the table.
func (t *table) bare() bool {
	bare := true
	t.each(func(int, *piece) { bare = false })
	return bare
}
