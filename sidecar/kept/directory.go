package kept

import (
	"time"

	"gpujoin/joincore"
)

// table is what the directory has of one table's file.
type table struct {
	key     Table
	name    string
	columns []*column // that have been asked for
	groups  map[int]*group
	blocks  uint32 // of the newest request
	leases  int
	uses    usage
	last    LastUse
	refused time.Time // when it was captured last without memory
	part    struct {  // the last capture that was restricted to a part of the table
		at  time.Time
		had int64 // blocks that were kept before it
	}
	superseded bool // the table has had another file since
	forgotten  bool // no longer in the directory: what is captured for it is dropped
}

// group is what the directory has of the blocks of one page of the visibility map.
type group struct {
	chunks [groupChunks]*chunk
}

// chunk has at most one piece of each column of the table, by the column's position.
type chunk struct {
	table  *table
	pieces []*piece
}

// column is a column that has been asked for.
type column struct {
	Column
	table   *table
	uses    usage
	benefit float64 // of its pieces in the directory
	bytes   int64   // of these
	tooWide bool    // the values of some chunk fit in no extent: the column is not captured again
}

// pieceBytes is what the directory counts for a piece.
const pieceBytes = 256

// piece is the values of one column in the blocks of one chunk. It never changes: another
// piece takes its place in the directory, and it lives on while it is leased.
//
// A query of a large table leases thousands of pieces, whose memory is in no cache: what it needs
// of them comes first.
type piece struct {
	layout *layout
	leases int
	chunk  *chunk // nil: it is not in the directory
	span   span
	vector joincore.Vector // the whole span, with a content of its own
	bytes  int64

	column  int     // position in the chunk
	moved   bool    // another piece has its content
	vain    int     // newer blocks that were captured, but were too few to make a new piece
	benefit float64 // nanoseconds of feeding that one use saves
}

// usage counts uses that lose half of their weight in a time. The zero value: never used.
type usage struct {
	weight float64
	last   time.Time
}

// position returns the position of a column in the table.
func (t *table) position(c *Column) int {
	for i, have := range t.columns {
		if have.Column == *c {
			return i
		}
	}
	t.columns = append(t.columns, &column{Column: *c, table: t})
	return len(t.columns) - 1
}

// chunk returns a chunk of the table, nil if nothing of it is kept.
func (t *table) chunk(number int) *chunk {
	if g := t.groups[number/groupChunks]; g != nil {
		return g.chunks[number%groupChunks]
	}
	return nil
}

// makeChunk returns a chunk of the table.
func (t *table) makeChunk(number int) *chunk {
	g := t.groups[number/groupChunks]
	if g == nil {
		g = &group{}
		t.groups[number/groupChunks] = g
	}
	c := &g.chunks[number%groupChunks]
	if *c == nil {
		*c = &chunk{table: t}
	}
	return *c
}

// piece returns the piece of a column, nil if there is none.
func (c *chunk) piece(column int) *piece {
	if c == nil || column >= len(c.pieces) {
		return nil
	}
	return c.pieces[column]
}

// layouts calls f with every layout of the chunk once.
func (c *chunk) layouts(f func(*layout)) {
	if c == nil {
		return
	}
	for i, p := range c.pieces {
		if p == nil || c.layoutBefore(p.layout, i) {
			continue
		}
		f(p.layout)
	}
}

// heading returns the column of a piece of the directory.
func (p *piece) heading() *column { return p.chunk.table.columns[p.column] }

// layoutBefore reports whether one of the first n pieces has the layout.
func (c *chunk) layoutBefore(l *layout, n int) bool {
	for _, p := range c.pieces[:n] {
		if p != nil && p.layout == l {
			return true
		}
	}
	return false
}

// newPiece returns a piece with a lease for the caller. It is not in the directory yet, but
// its memory counts.
func (s *Store) newPiece(l *layout, column int, sp span) *piece {
	if l.users++; l.users == 1 {
		s.directory += l.bytes()
	}
	s.directory += pieceBytes
	s.pieces++
	p := &piece{layout: l, column: column, span: sp, bytes: int64(len(sp.data)), benefit: saving(l)}
	s.hold(p)
	return p
}

// enter puts a piece into the directory, in the place of an older one.
func (s *Store) enter(c *chunk, p *piece) {
	for p.column >= len(c.pieces) {
		c.pieces = append(c.pieces, nil)
	}
	if old := c.pieces[p.column]; old != nil {
		s.remove(old)
	}
	c.pieces[p.column] = p
	p.chunk = c
	p.span.extent.enter(p)
}

// remove takes a piece out of the directory. Its memory is free at once, or when its last
// lease ends.
func (s *Store) remove(p *piece) {
	p.span.extent.remove(p)
	p.chunk.pieces[p.column] = nil
	p.chunk = nil
	if p.leases == 0 {
		s.destroy(p)
	}
}

// destroy frees what a piece has, its layout if no other piece has that, and its content.
func (s *Store) destroy(p *piece) {
	s.arena.free(p.span)
	if p.layout.users--; p.layout.users == 0 {
		s.directory -= p.layout.bytes()
	}
	s.directory -= pieceBytes
	s.pieces--
	if !p.moved && s.options.Gone != nil {
		s.options.Gone(p.vector.Content)
	}
}

// hold keeps a piece's bytes until release.
func (s *Store) hold(p *piece) {
	p.leases++
	p.span.extent.pins++
}

// release reverses hold.
func (s *Store) release(p *piece) {
	p.leases--
	p.span.extent.pins--
	if p.leases == 0 && p.chunk == nil {
		s.destroy(p)
	}
}
