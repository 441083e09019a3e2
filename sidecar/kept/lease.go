package kept

import (
	"errors"
	"fmt"
)

// Lease is a job's hold on what is kept of the columns of one input, from its request until
// Close. What it serves does not change meanwhile, whatever is captured or evicted.
type Lease struct {
	s       *Store
	t       *table
	columns []int // positions in the table, in the request's order
	request Request
	capture uint32 // blocks before this one that are fed are captured; 0: none
	part    int64  // of a capture that CaptureFirst has restricted: blocks that are not served

	// Guarded by the store's lock:
	groups  []leasedGroup
	leased  int // chunks with blocks to serve or to prove
	proven  int // blocks that have been proved
	batches []*batch
	taken   map[int]*blockSet // captured blocks by chunk
	closed  bool
	queued  int64 // blocks whose copying was queued when it was closed
	scratch []span
}

// leasedGroup is what a lease has of a group.
type leasedGroup struct {
	chunks      []leased // as far as the table reaches; nil: none
	kept, prove int      // blocks of these
}

// leased is one chunk of a lease. Without pieces, it has no blocks to serve or to prove.
type leased struct {
	pieces []*piece // in the order of the request's columns; one if it has none
	kept   blockSet // level 1: served
	prove  blockSet // level 2: served if a participant proves it
	proved blockSet // part of prove
}

// served returns the blocks whose rows are in the lease's segments.
func (c *leased) served() blockSet { return c.kept.or(c.proved) }

// Open returns what is kept of the columns of a scan, and counts the use.
func (s *Store) Open(r *Request) *Lease {
	l := &Lease{s: s, request: *r, groups: make([]leasedGroup, len(r.Groups)), taken: map[int]*blockSet{}}
	s.mu.Lock()
	defer s.mu.Unlock()
	l.t = s.table(r)
	l.t.leases++
	l.t.uses.add(r.Now, s.options.Interest)
	for i := range r.Columns {
		l.columns = append(l.columns, l.t.position(&r.Columns[i]))
	}
	if l.t.last.Reason = s.obstacle(l); l.t.last.Reason == "" {
		l.capture = r.Blocks
		s.capturing[l] = struct{}{}
	}
	for number, g := range l.t.groups {
		if number < len(r.Groups) && r.Groups[number].LSN != 0 {
			l.openGroup(number, g)
		}
	}
	s.counters.Uses++
	return l
}

// Why a use does not capture what it feeds.
const (
	reasonNoColumn = "it reads no column"
	reasonTooWide  = "a column has values that are too long to be kept"
	reasonOff      = "it asked not to keep anything"
	reasonOnce     = "a column had not been used lately"
	reasonNoMemory = "there is no memory for more (--keep-memory)"
	reasonDeclined = "the daemon has no memory for the rows of whole blocks"
	reasonPart     = "the daemon had no memory for the rows of all blocks: further uses keep more of them"
)

// obstacle returns why a use does not capture what it feeds, "" if it does, and counts the use
// of its columns.
func (s *Store) obstacle(l *Lease) string {
	again, wide := true, false
	for _, c := range l.columns {
		u := &l.t.columns[c].uses
		wide = wide || l.t.columns[c].tooWide
		if u.last.IsZero() || l.request.Now.Sub(u.last) > s.options.Interest {
			again = false
		}
		u.add(l.request.Now, s.options.Interest)
	}
	switch {
	case len(l.columns) == 0:
		return reasonNoColumn
	case wide:
		return reasonTooWide
	case l.request.Policy == Off:
		return reasonOff
	case l.request.Policy == Auto && !again:
		return reasonOnce
	case !s.roomFor(l):
		return reasonNoMemory
	}
	return ""
}

// openGroup leases what may be served of a group.
//
// What is kept of blocks at or behind the request's number of blocks is not served, but it
// stays. The number is no news: requests overlap, so this one may have been read before others
// extended the table. And it does no harm to keep it: if the table was truncated and has grown
// again, the bits of these blocks have been set again, with a new LSN of the VM page, and their
// pages have new LSNs. It is evicted as other data that is not used.
func (l *Lease) openGroup(number int, g *group) {
	vm, to := &l.request.Groups[number], &l.groups[number]
	n := (l.groupBlocks(number) + ChunkBlocks - 1) / ChunkBlocks
	var slab []*piece // of all chunks: a query of a large table leases thousands of them
	for i, c := range g.chunks[:n] {
		if c == nil {
			continue
		}
		if to.chunks == nil {
			to.chunks = make([]leased, n)
			slab = make([]*piece, 0, n*max(1, len(l.columns)))
		}
		visible := chunkOf(vm.Visible, i)
		if left := int64(l.request.Blocks) - firstBlock(number*groupChunks+i); left < ChunkBlocks {
			visible = visible.and(firstBlocks(int(left)))
		}
		pieces, both := l.choose(c, visible, slab[len(slab):])
		both = both.and(visible)
		if both.empty() {
			continue
		}
		var proved blockSet
		for i, p := range pieces {
			if i == 0 || p.layout != pieces[0].layout {
				proved = proved.or(p.layout.proof.at(vm.LSN))
			}
			l.s.hold(p)
		}
		slab = slab[:len(slab)+len(pieces)]
		found := &to.chunks[i]
		found.pieces, found.kept, found.prove = pieces, both.and(proved), both.without(proved)
		to.kept += found.kept.count()
		to.prove += found.prove.count()
		l.leased++
	}
}

// chunk returns a chunk of the lease, nil if there is nothing to serve or to prove.
func (l *Lease) chunk(number int) *leased {
	g, i := number/groupChunks, number%groupChunks
	if g >= len(l.groups) || i >= len(l.groups[g].chunks) || l.groups[g].chunks[i].pieces == nil {
		return nil
	}
	return &l.groups[g].chunks[i]
}

// each calls f with the chunks of the lease, in their order.
func (l *Lease) each(f func(number int, c *leased)) {
	for g := range l.groups {
		l.group(g, func(i int, c *leased) { f(g*groupChunks+i, c) })
	}
}

// choose returns the pieces of the lease's columns, and the blocks that all of them have from
// the same version of the page. Where no column is wanted, any piece counts the rows: the one
// with the most visible blocks is chosen. The pieces are appended to a slice.
func (l *Lease) choose(c *chunk, visible blockSet, pieces []*piece) (_ []*piece, both blockSet) {
	if len(l.columns) == 0 {
		var best *piece
		most := 0
		for _, p := range c.pieces {
			if p == nil {
				continue
			}
			if n := p.layout.have.and(visible).count(); n > most {
				best, most = p, n
			}
		}
		if best == nil {
			return nil, blockSet{}
		}
		return append(pieces, best), best.layout.have
	}
	for i, column := range l.columns {
		p := c.piece(column)
		if p == nil {
			return nil, blockSet{}
		}
		switch {
		case i == 0:
			both = p.layout.have
		case p.layout != pieces[0].layout:
			both = both.and(pieces[0].layout.common(p.layout))
		}
		pieces = append(pieces, p)
	}
	return pieces, both
}

// firstBlock returns the number of the first block of a chunk.
func firstBlock(chunk int) int64 {
	return int64(chunk/groupChunks)*GroupBlocks + int64(chunk%groupChunks)*ChunkBlocks
}

// place returns the chunk of a block and its position there.
func place(block uint32) (chunk, at int) {
	group, rest := int(block/GroupBlocks), int(block%GroupBlocks)
	return group*groupChunks + rest/ChunkBlocks, rest % ChunkBlocks
}

// Kept reports whether the scan is worth the mode KEPT: something may be served, or what is
// fed is captured.
func (l *Lease) Kept() bool { return l.Capture() || l.leased > 0 }

// Capture reports whether participants are to hand over blocks that they feed by Captured.
func (l *Lease) Capture() bool { return l.capture > 0 }

// CaptureEnd returns the number after that of the last block that is captured.
func (l *Lease) CaptureEnd() uint32 { return l.capture }

// Capturing returns the number of blocks that are captured whatever participants prove.
func (l *Lease) Capturing() int64 {
	switch {
	case l.capture == 0:
		return 0
	case l.capture < l.request.Blocks:
		return l.part
	}
	return l.Unserved()
}

// CaptureFirst restricts the capture, before it has begun, to the first chunks of the table that
// have no more than n blocks which are not served, because there is no memory to feed more of them
// unfiltered. It returns how many blocks those are. The next use finds them kept, and captures
// others. If it does not, because jobs need the memory, it captures nothing for a while.
func (l *Lease) CaptureFirst(n int64) int64 {
	l.s.mu.Lock()
	end, blocks := l.firstUnserved(n)
	goesOn := l.capture < l.request.Blocks || l.part > 0 || l.goesOn()
	if l.capture > 0 && end < l.request.Blocks && blocks > 0 && goesOn {
		l.capture, l.part = end, blocks
		l.t.last.Reason = reasonPart
	}
	l.s.mu.Unlock()
	if end < l.request.Blocks && (blocks == 0 || !goesOn) {
		l.Decline()
	}
	return l.Capturing()
}

// goesOn reports whether more is kept of the table than before the last part of it was captured.
// The caller holds the store's lock.
func (l *Lease) goesOn() bool {
	have := int64(0)
	for i := range l.groups {
		have += int64(l.groups[i].kept + l.groups[i].prove)
	}
	p := &l.t.part
	if l.request.Policy == Auto && !p.at.IsZero() && l.request.Now.Sub(p.at) < l.s.options.Interest && have <= p.had {
		l.t.refused = l.request.Now
		return false
	}
	p.at, p.had = l.request.Now, have
	return true
}

// firstUnserved returns the end of the first chunks that have no more than n blocks which are not
// served, and how many blocks those are. The caller holds the store's lock.
func (l *Lease) firstUnserved(n int64) (end uint32, blocks int64) {
	for g := range l.request.Groups {
		length := l.groupBlocks(g)
		for from := 0; from < length; from += ChunkBlocks {
			size := min(ChunkBlocks, length-from)
			more := int64(size)
			if c := l.chunk(g*groupChunks + from/ChunkBlocks); c != nil {
				more -= int64(c.kept.count() + c.prove.count())
			}
			if blocks+more > n {
				return end, blocks
			}
			end, blocks = end+uint32(size), blocks+more
		}
	}
	return end, blocks
}

// Decline ends the capture before it has begun: there is no memory to feed unfiltered blocks.
func (l *Lease) Decline() {
	l.s.mu.Lock()
	defer l.s.mu.Unlock()
	if l.capture > 0 {
		l.capture = 0
		l.t.last.Reason = reasonDeclined
		delete(l.s.capturing, l)
	}
}

// Unserved returns the number of blocks that participants feed whatever they prove.
func (l *Lease) Unserved() int64 {
	l.s.mu.Lock()
	defer l.s.mu.Unlock()
	n := int64(l.request.Blocks)
	for i := range l.groups {
		n -= int64(l.groups[i].kept + l.groups[i].prove)
	}
	return n
}

// groupBlocks returns the number of blocks of a group that the scan reads.
func (l *Lease) groupBlocks(group int) int {
	return int(max(0, min(GroupBlocks, int64(l.request.Blocks)-int64(group)*GroupBlocks)))
}

// State says what participants do with the blocks of a group.
func (l *Lease) State(group int) State {
	l.s.mu.Lock()
	defer l.s.mu.Unlock()
	if group >= len(l.groups) {
		return Fed
	}
	switch g := &l.groups[group]; {
	case g.kept > 0 && g.kept == l.groupBlocks(group):
		return Kept
	case g.kept+g.prove > 0:
		return Mixed
	}
	return Fed
}

// group calls f with the chunks of a group, in their order.
func (l *Lease) group(group int, f func(chunk int, c *leased)) {
	if group >= len(l.groups) {
		return
	}
	for i := range l.groups[group].chunks {
		if c := &l.groups[group].chunks[i]; c.pieces != nil {
			f(i, c)
		}
	}
}

// Blocks returns bitmaps of BitmapBytes each: the blocks that are served, and those that a
// participant serves by proving them, with the LSN that each of these pages must have.
func (l *Lease) Blocks(group int) (kept, prove []byte, lsns []uint64) {
	kept, prove = make([]byte, BitmapBytes), make([]byte, BitmapBytes)
	l.s.mu.Lock()
	defer l.s.mu.Unlock()
	if group < len(l.groups) {
		lsns = make([]uint64, 0, l.groups[group].prove)
	}
	l.group(group, func(i int, c *leased) {
		c.kept.put(kept, i)
		c.prove.put(prove, i)
		lsns = c.pieces[0].layout.appendLSNs(lsns, &c.prove)
	})
	return kept, prove, lsns
}

// ErrLease means that a participant has reported what it cannot have found.
var ErrLease = errors.New("kept columns")

// Proved records blocks of a group, in a bitmap of BitmapBytes, whose pages have the LSN that
// Blocks gave. They are served. Nothing is recorded if it returns an error, which wraps
// ErrLease: a block was not to be proved, or was proved or captured before.
func (l *Lease) Proved(group int, blocks []byte) error {
	if group < 0 || group >= len(l.request.Groups) || len(blocks) != BitmapBytes {
		return fmt.Errorf("%w: proof of %d bytes for group %d of %d", ErrLease, len(blocks), group, len(l.request.Groups))
	}
	for _, b := range blocks[GroupBlocks/8:] {
		if b != 0 {
			return fmt.Errorf("%w: proof of a block behind group %d", ErrLease, group)
		}
	}
	l.s.mu.Lock()
	defer l.s.mu.Unlock()
	if l.closed {
		return fmt.Errorf("%w: proof after the end of the scan", ErrLease)
	}
	for i := range groupChunks {
		set := chunkOf(blocks, i)
		if set.empty() {
			continue
		}
		var open blockSet
		if c := l.chunk(group*groupChunks + i); c != nil {
			open = c.prove.without(c.proved)
		}
		if taken := l.taken[group*groupChunks+i]; taken != nil {
			open = open.without(*taken)
		}
		if wrong := set.without(open); !wrong.empty() {
			return fmt.Errorf("%w: group %d: %d blocks of chunk %d were not to be proved", ErrLease, group, wrong.count(), i)
		}
	}
	vm := &l.request.Groups[group]
	l.group(group, func(i int, c *leased) {
		set := chunkOf(blocks, i)
		if set.empty() {
			return
		}
		c.proved = c.proved.or(set)
		l.proven += set.count()
		if l.provable(vm) {
			l.t.prove(group*groupChunks+i, c.pieces[0].layout, vm.LSN, set)
		}
	})
	return nil
}

// provable reports whether blocks can be proved at the LSN of a VM page. It must be on disk:
// another page with other bits may have that LSN after a crash.
func (l *Lease) provable(vm *Group) bool { return vm.LSN != 0 && vm.LSN <= l.request.Flushed }

// prove records that blocks of a chunk had the page LSNs that a layout has. The directory may
// have other layouts by now: the proof holds for those of their blocks that have that LSN.
func (t *table) prove(chunk int, of *layout, vm uint64, blocks blockSet) {
	t.chunk(chunk).layouts(func(l *layout) {
		l.proof.add(vm, blocks.and(of.common(l)))
	})
}

// Close ends the lease: its segments are no longer valid. complete says that all participants
// have fed all their blocks; if so, what they captured will be kept. The copying is done later,
// by Work.
func (l *Lease) Close(complete bool) {
	s := l.s
	s.mu.Lock()
	if l.closed {
		s.mu.Unlock()
		return
	}
	l.closed = true
	delete(s.capturing, l)
	served, proved := int64(0), int64(l.proven)
	for i := range l.groups {
		served += int64(l.groups[i].kept)
	}
	l.each(func(_ int, c *leased) {
		for _, p := range c.pieces {
			s.release(p)
		}
	})
	for _, sp := range l.scratch {
		s.scratch.free(sp)
	}
	s.scratch.idle()
	l.t.leases--
	if complete {
		s.counters.Kept += served
		s.counters.Proved += proved
		s.counters.Fed += int64(l.request.Blocks) - served - proved
		l.t.last.Kept, l.t.last.Proved, l.t.last.Fed = served, proved, int64(l.request.Blocks)-served-proved
		if l.t.last.Fed == 0 {
			l.t.last.Reason = ""
		}
	}
	queued := complete && l.queue()
	batches := l.batches
	l.groups, l.taken, l.batches, l.scratch = nil, nil, nil, nil
	s.mu.Unlock()
	for _, b := range batches {
		b.release()
	}
	if queued {
		s.wake()
	}
}
