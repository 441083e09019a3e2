package kept

import (
	"math/rand/v2"
	"slices"
)

// This file simulates what PostgreSQL does to one table, as far as kept columns depend on it:
// heap pages with versions of rows, the visibility map, WAL and crashes, VACUUM, rewrites.
// Every WAL record has the LSN of its end, and the next record the next number, so LSNs that
// a crash has lost are soon used again.

// pgConfig is what differs between servers.
type pgConfig struct {
	clearStamps bool // PostgreSQL 18: clearing a bit stamps the VM page; 15: it does not
	checksums   bool // setting a bit stamps the heap page, too
}

// tuple is a version of a row. Its id is also its value.
type tuple struct {
	id         int64
	xmin, xmax int
}

// heapPage and vmPage are states of pages; a change makes a new state.
type heapPage struct {
	lsn     uint64
	visible bool // PD_ALL_VISIBLE
	tuples  []tuple
}

type vmPage struct {
	lsn  uint64
	bits uint64 // by position in pg.hot
}

// states are the states of a page since it was last certain to be on disk, each with the LSN
// of the record that made it. That record need not stamp the page.
type states[P any] struct {
	records []uint64
	pages   []P
}

func (s *states[P]) now() P { return s.pages[len(s.pages)-1] }

func (s *states[P]) change(record uint64, page P) {
	s.records, s.pages = append(s.records, record), append(s.pages, page)
}

// crash leaves the state that WAL up to flushed makes, or a later one that may have been
// written before: one whose stamp is on disk, because a page is not written before its WAL.
func (s *states[P]) crash(flushed uint64, rnd *rand.Rand, stamp func(P) uint64) {
	last := 0
	for i, r := range s.records {
		if r <= flushed {
			last = i
		}
	}
	choice := []P{s.pages[last]}
	for _, p := range s.pages[last+1:] {
		if stamp(p) <= flushed {
			choice = append(choice, p)
		}
	}
	*s = states[P]{}
	s.change(0, choice[rnd.IntN(len(choice))])
}

// rowVersion is what a version is to SQL, wherever it is stored: the oracle knows only these.
type rowVersion struct {
	xmin  int
	xmaxs []int
}

// Status of a transaction.
const (
	running = iota
	committed
	aborted
)

type transaction struct {
	status int
	commit uint64 // LSN of its commit record
}

// snapshot sees what was committed when it was taken, and its own transaction.
type snapshot struct {
	next    int // the first transaction that had not begun
	running []int
	own     int // 0: none
}

type pg struct {
	pgConfig
	rnd          *rand.Rand
	lsn, flushed uint64
	xacts        []transaction // by xid; the first is none
	hot          []uint32      // the blocks that have rows; all others are empty and not visible
	file         uint32
	heap         []*states[heapPage] // by position in hot: its length is that of the table
	vm           []*states[vmPage]   // by group
	rows         map[int64]*rowVersion
	nextID       int64
	pins         map[int]int // by position in hot
	locks        int         // queries and transactions that keep the table as it is
	writers      []int       // xids
	snapshots    []*snapshot
}

// mostTuples is how many tuples a page holds.
const mostTuples = 4

func newPG(rnd *rand.Rand) *pg {
	p := &pg{
		pgConfig: pgConfig{clearStamps: rnd.IntN(2) == 0, checksums: rnd.IntN(2) == 0},
		rnd:      rnd, xacts: make([]transaction, 1), rows: map[int64]*rowVersion{}, pins: map[int]int{}, lsn: 10, flushed: 10,
	}
	if rnd.IntN(2) == 0 {
		p.hot = []uint32{0, 1, 2, 3, 4, 5, 6, 7}
	} else { // the borders of chunks and groups
		p.hot = []uint32{0, 511, 512, 513, GroupBlocks - 1, GroupBlocks, GroupBlocks + 1, GroupBlocks + 600}
	}
	p.hot = p.hot[:2+rnd.IntN(len(p.hot)-1)]
	p.newFile()
	return p
}

func (p *pg) newFile() {
	p.file++
	p.heap, p.vm = nil, nil
}

func (p *pg) log() uint64 { p.lsn++; return p.lsn }

func (p *pg) begin() int {
	p.xacts = append(p.xacts, transaction{})
	return len(p.xacts) - 1
}

func (p *pg) commit(xid int, sync bool) {
	p.xacts[xid] = transaction{committed, p.log()}
	if sync {
		p.flushed = p.lsn
	}
}

func (p *pg) snapshot(own int) *snapshot {
	s := &snapshot{next: len(p.xacts), own: own}
	for xid, x := range p.xacts {
		if x.status == running && xid > 0 {
			s.running = append(s.running, xid)
		}
	}
	p.snapshots = append(p.snapshots, s)
	return s
}

func (p *pg) drop(s *snapshot) {
	p.snapshots = slices.DeleteFunc(p.snapshots, func(o *snapshot) bool { return o == s })
}

// sees reports whether a transaction's work is visible to a snapshot.
func (p *pg) sees(s *snapshot, xid int) bool {
	return xid != 0 && (xid == s.own || p.xacts[xid].status == committed && xid < s.next && !slices.Contains(s.running, xid))
}

func (p *pg) visible(s *snapshot, t *tuple) bool {
	return p.sees(s, t.xmin) && !p.sees(s, t.xmax)
}

// oracle returns the rows that a snapshot sees.
func (p *pg) oracle(s *snapshot) (ids []int64) {
	for id, r := range p.rows {
		if p.sees(s, r.xmin) && !slices.ContainsFunc(r.xmaxs, func(x int) bool { return p.sees(s, x) }) {
			ids = append(ids, id)
		}
	}
	return ids
}

// horizon returns the first transaction that may not be visible to all.
func (p *pg) horizon() int {
	h := len(p.xacts)
	for _, s := range p.snapshots {
		h = min(h, s.next, slices.Min(append(s.running, s.next)))
	}
	for xid, x := range p.xacts {
		if x.status == running && xid > 0 {
			h = min(h, xid)
		}
	}
	return h
}

// blocks returns the number of blocks of the table.
func (p *pg) blocks() uint32 {
	if len(p.heap) == 0 {
		return 0
	}
	return p.hot[len(p.heap)-1] + 1
}

// group returns the VM page of a hot block.
func (p *pg) group(at int) *states[vmPage] {
	for int(p.hot[at]/GroupBlocks) >= len(p.vm) {
		s := &states[vmPage]{}
		s.change(0, vmPage{})
		p.vm = append(p.vm, s)
	}
	return p.vm[p.hot[at]/GroupBlocks]
}

// modify writes new tuples to a page. In one record, the page is stamped and its flag and bit
// are cleared.
func (p *pg) modify(at int, tuples []tuple) {
	record := p.log()
	page := p.heap[at].now()
	vm := p.group(at)
	if v := vm.now(); page.visible && v.bits>>at&1 != 0 {
		v.bits &^= 1 << at
		if p.clearStamps {
			v.lsn = record
		}
		vm.change(record, v)
	}
	p.heap[at].change(record, heapPage{lsn: record, tuples: tuples})
}

// insert adds a row of a transaction, on a page with room or on a new one.
func (p *pg) insert(xid int) {
	at := p.rnd.IntN(len(p.hot))
	if at >= len(p.heap) {
		if at = len(p.heap); at < len(p.hot) {
			s := &states[heapPage]{}
			s.change(0, heapPage{})
			p.heap = append(p.heap, s)
		}
	}
	if old := p.heap[at].now().tuples; len(old) < mostTuples {
		p.modify(at, append(slices.Clone(old), p.newRow(xid)))
	}
}

func (p *pg) newRow(xid int) tuple {
	p.nextID++
	p.rows[p.nextID] = &rowVersion{xmin: xid}
	return tuple{id: p.nextID, xmin: xid}
}

// remove deletes a row that a new snapshot of the transaction sees, if it finds one; so does
// an update, which inserts another.
func (p *pg) remove(xid int) {
	if len(p.heap) == 0 {
		return
	}
	s := p.snapshot(xid)
	defer p.drop(s)
	at := p.rnd.IntN(len(p.heap))
	tuples := slices.Clone(p.heap[at].now().tuples)
	for i := range tuples {
		t := &tuples[i]
		free := t.xmax == 0 || p.xacts[t.xmax].status == aborted
		if free && p.visible(s, t) {
			t.xmax = xid
			p.rows[t.id].xmaxs = append(p.rows[t.id].xmaxs, xid)
			p.modify(at, tuples)
			return
		}
	}
}

// lockRow stamps a page and changes nothing that a query sees. It clears the bit that says
// all-frozen, which stamps the VM page if clearing does.
func (p *pg) lockRow() {
	if len(p.heap) == 0 {
		return
	}
	at := p.rnd.IntN(len(p.heap))
	record := p.log()
	page := p.heap[at].now()
	page.lsn = record
	p.heap[at].change(record, page)
	if v := p.group(at).now(); p.clearStamps && v.bits>>at&1 != 0 {
		v.lsn = record
		p.group(at).change(record, v)
	}
}
