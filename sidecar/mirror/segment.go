package mirror

import (
	"math/bits"
	"slices"
	"sort"
	"sync/atomic"
	"unsafe"
)

// segmentRows is the most rows of a segment. A row's number is its segment's number and its
// place in it, 16 bits each.
const (
	segmentBits = 16
	segmentRows = 1 << segmentBits
)

// alive is the commit that deletes the rows of a segment that none has truncated.
const alive = ^uint64(0)

// segment is some rows of a table. Its writer appends to it; what readers may see is published
// at each commit, and guarded by Server.mu.
type segment struct {
	number uint32

	// The writer's.
	store   *storage
	rows    int
	sealed  bool
	touched bool // by the open transaction
	cut     bool // truncated by the open transaction

	// Published.
	shown  *storage     // nil: nothing yet
	runs   []run        // by commit; the last one has all rows that are published
	until  uint64       // the commit that has truncated the table, or alive
	deaths []death      // by commit; readers hold parts of it, so it is only appended to, or replaced
	dead   []uint64     // bit i: row i is deleted for every pin; replaced, never written
	gone   int          // bits of dead
	border []border     // of each column, while the segment grows
	copies atomic.Int32 // for readers, since it was rewritten
}

// run says how many rows a segment has from a commit on.
type run struct {
	commit uint64
	rows   int
}

// death is the deletion of a row by a commit.
type death struct {
	commit uint64
	row    uint16
}

// segmentBytes is what a segment's struct counts in the memory beside extents.
const segmentBytes = int64(unsafe.Sizeof(segment{})) + 256

// visible returns how many rows of the segment a pin sees, before deletions.
func (s *segment) visible(commit uint64) int {
	if commit >= s.until {
		return 0
	}
	if n := s.runsAt(commit); n > 0 {
		return s.runs[n-1].rows
	}
	return 0
}

// runsAt returns how many runs there are up to a commit.
func (s *segment) runsAt(commit uint64) int {
	return sort.Search(len(s.runs), func(i int) bool { return s.runs[i].commit > commit })
}

// deathsAt returns the deletions up to a commit.
func (s *segment) deathsAt(commit uint64) []death {
	n := sort.Search(len(s.deaths), func(i int) bool { return s.deaths[i].commit > commit })
	return s.deaths[:n:n]
}

// publish adds a commit's rows, and drops runs that no pin tells apart.
func (s *segment) publish(commit uint64, h horizon) {
	switch n := len(s.runs); {
	case n > 0 && s.runs[n-1].rows == s.rows:
	case n > 0 && s.runs[n-1].commit > h.newest:
		s.runs[n-1] = run{commit, s.rows}
	default:
		s.runs = append(s.runs, run{commit, s.rows})
	}
	if n := s.runsAt(h.oldest); n > 1 {
		s.runs = append(s.runs[:0], s.runs[n-1:]...)
	}
}

// border is what readers may know of a bitmap that grows. The writer changes the byte in which the
// published rows end when it appends, so readers copy it from here.
type border struct {
	nulls bool // there may be NULLs
	last  byte // the byte, if the rows end within it
}

func (s *segment) showBorder() {
	if s.border == nil {
		s.border = make([]border, len(s.store.lanes))
	}
	for i := range s.store.lanes {
		l, b := &s.store.lanes[i], &s.border[i]
		if b.nulls = l.nulls; l.nulls && s.rows%8 != 0 {
			b.last = l.validity[s.rows/8]
		}
	}
}

// settleLeast is the number of deletions that are worth a new bitmap.
const settleLeast = 64

// settle makes bits of deletions that every pin sees, if there are enough of them. It returns
// by how many bytes the memory beside extents grows.
func (s *segment) settle(oldest uint64, least int) int64 {
	if len(s.deaths) < max(least, 1) || s.deaths[max(least, 1)-1].commit > oldest {
		return 0
	}
	n := len(s.deathsAt(oldest))
	dead := make([]uint64, (s.stored()+63)/64)
	grown := int64(8 * (len(dead) - len(s.dead)))
	copy(dead, s.dead)
	for _, d := range s.deaths[:n] {
		dead[d.row/64] |= 1 << (d.row % 64)
	}
	s.dead, s.gone = dead, s.gone+n
	s.deaths = slices.Clone(s.deaths[n:])
	return grown - int64(n)*deathBytes
}

const deathBytes = int64(unsafe.Sizeof(death{}))

// stored is the number of published rows.
func (s *segment) stored() int {
	if n := len(s.runs); n > 0 {
		return s.runs[n-1].rows
	}
	return 0
}

// settled reports whether every pin sees all rows of the segment, before deletions.
func (s *segment) settled(oldest uint64) bool {
	return s.sealed && s.shown == s.store && len(s.runs) > 0 && s.runs[len(s.runs)-1].commit <= oldest && s.until == alive
}

// count returns the bits of a bitmap.
func count(bitmap []uint64) (n int) {
	for _, w := range bitmap {
		n += bits.OnesCount64(w)
	}
	return n
}
