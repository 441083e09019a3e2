package kept

import (
	"cmp"
	"slices"
	"time"
)

// TableInfo describes what is kept of one file of a table.
type TableInfo struct {
	Table   Table
	Name    string
	Columns []ColumnInfo // those of which something is kept
	Blocks  uint32       // of the table, when it was used last
	Bytes   int64        // of all columns
	Device  int64        // that their contents take on devices
	Uses    float64      // recent ones: a use counts half after the time of the interest
	LastUse time.Time
	Last    LastUse
	Leases  int
	// Superseded: the table has had another file since, so nothing of this one is likely to be
	// used again.
	Superseded bool
}

// Refused reports whether what the last use fed could not be kept, for a reason that may last.
func (t *TableInfo) Refused() bool {
	switch t.Last.Reason {
	case reasonNoMemory, reasonDeclined, reasonTooWide:
		return true
	}
	return false
}

// LastUse says what became of the blocks of a table at its last use.
type LastUse struct {
	Kept, Proved, Fed int64  // as in Counters; of the last scan that was complete
	Reason            string // why what was fed was not captured; "": it was
}

// ColumnInfo describes what is kept of a column.
type ColumnInfo struct {
	Column  Column
	Blocks  int64
	Rows    int64
	Bytes   int64
	Device  int64 // that its contents take on devices
	Uses    float64
	LastUse time.Time
}

// Fraction returns the share of the table's blocks of which the column is kept.
func (t *TableInfo) Fraction(c *ColumnInfo) float64 {
	return min(1, float64(c.Blocks)/float64(max(1, t.Blocks)))
}

// Counters count events since the store was made, and what it holds now.
type Counters struct {
	Uses              int64 // leases
	Kept, Proved, Fed int64 // blocks of complete scans: served by level 1, by level 2, or fed
	Captured          int64 // bytes that were copied
	Refused           int64 // pieces of captured columns for which there was no memory or that were malformed
	Evicted           int64 // bytes

	Bytes     int64 // held now: extents and directory
	Values    int64 // of these: values
	Directory int64
	Extents   int
	Pending   int // chunks that are to be copied, or are copied now
}

// Counters returns a snapshot.
func (s *Store) Counters() Counters {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.counters
	c.Bytes, c.Values, c.Directory = s.held(), s.arena.spans, s.directory
	c.Extents, c.Pending = len(s.arena.extents)+len(s.scratch.extents), len(s.pending)
	if s.copying != nil {
		c.Pending++
	}
	return c
}

// Tables describes all tables of which something is kept, or could not be kept lately, by
// name.
func (s *Store) Tables() []TableInfo { return s.TablesOn(func(uint64) int64 { return 0 }) }

// TablesOn is Tables with the bytes that contents take on devices, which device returns.
func (s *Store) TablesOn(device func(content uint64) int64) (out []TableInfo) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range s.tables {
		if info := s.info(t, device); len(info.Columns) > 0 || info.Refused() {
			out = append(out, info)
		}
	}
	slices.SortFunc(out, func(a, b TableInfo) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Table.Database, b.Table.Database), cmp.Compare(a.Table.File, b.Table.File))
	})
	return out
}

func (s *Store) info(t *table, device func(content uint64) int64) TableInfo {
	info := TableInfo{
		Table: t.key, Name: t.name, Blocks: t.blocks, Uses: t.uses.at(s.now, s.options.Interest),
		LastUse: t.uses.last, Last: t.last, Leases: t.leases, Superseded: t.superseded,
	}
	columns := make([]ColumnInfo, len(t.columns))
	t.each(func(_ int, p *piece) {
		c := &columns[p.column]
		c.Blocks += int64(p.layout.have.count())
		c.Rows += int64(p.layout.total)
		c.Bytes += p.bytes
		info.Bytes += p.bytes
		n := device(p.vector.Content)
		c.Device += n
		info.Device += n
	})
	for i, c := range t.columns {
		if columns[i].Blocks > 0 {
			columns[i].Column, columns[i].LastUse = c.Column, c.uses.last
			columns[i].Uses = c.uses.at(s.now, s.options.Interest)
			info.Columns = append(info.Columns, columns[i])
		}
	}
	return info
}

// Forget drops all that is kept of the tables that match. What is leased lives until its lease
// ends. It returns the bytes of the values.
func (s *Store) Forget(match func(*TableInfo) bool) (freed int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range s.tables {
		if info := s.info(t, func(uint64) int64 { return 0 }); match(&info) {
			freed += s.forgetTable(t)
		}
	}
	return freed
}
