package kept

import (
	"fmt"
	"math/rand/v2"
	"slices"
)

// broken switches single rules of the proof off. With each of them the model must find a wrong
// result; that shows that the rule is needed, and that the model would notice if it were not
// kept.
type broken struct {
	anyVM            bool // level 1 whatever LSN the VM page has
	anyBit           bool // the bits of the VM page are taken as set
	anyPage          bool // level 2 without a look at the pages
	noFlag           bool // pages are captured that are not marked all-visible
	flagBefore       bool // LSN and flag are not compared after the tuples were collected
	unflushedPage    bool // pages are captured whose LSN is not on disk
	unflushedVM      bool // blocks are proved at a VM LSN that is not on disk
	vmBeforeSnapshot bool // the VM is read before the snapshot is taken
	noFile           bool // the key of a table lacks the file
	lateProof        bool // a proof counts for the VM LSN that others have proved since
	mixed            bool // columns need not be from the same version of a page
}

// reader is a session that queries the table, one small step at a time.
type reader struct {
	model   *model
	p       *pg
	s       *Store
	rnd     *rand.Rand
	broken  broken
	queries int  // that are left in the transaction; 0: none is open
	again   bool // the transaction keeps its snapshot

	snapshot *snapshot
	own      int
	locked   bool
	step     func() // the next step; nil: a new query

	request *Request
	lease   *Lease
	want    []string
	rows    []string // that were fed
	todo    []int    // positions in pg.hot of blocks that no participant has taken
	parts   [2]participant
	lazy    bool // they report at the end
	pinned  map[int]int
	wrong   error
	counts  *[3]int // blocks served by level 1, by level 2, fed
}

// participant is a process that works on a query.
type participant struct {
	step   func()
	batch  []Block
	ids    []int64
	proved map[int][]byte // by group
}

// queryStep is one step of the session.
func (r *reader) queryStep() {
	if r.step == nil {
		r.step = r.begin
	}
	r.step()
}

// begin begins a query, and with it a transaction if none is open.
func (r *reader) begin() {
	if r.queries == 0 {
		r.queries, r.again = 1+r.rnd.IntN(3), r.rnd.IntN(2) == 0
		if r.rnd.IntN(12) == 0 {
			r.own = r.p.begin()
		}
	}
	if !r.locked {
		r.locked = true
		r.p.locks++
	}
	if r.own != 0 && r.rnd.IntN(2) == 0 {
		r.p.insert(r.own)
	}
	r.request = &Request{Table: Table{System: 1, File: r.p.file}, Now: start, Policy: Always, Name: "t", Columns: someColumns(r.rnd)}
	if r.rnd.IntN(5) == 0 {
		r.request.Policy = Off
	}
	if r.broken.noFile {
		r.request.Table.File = 0
	}
	if r.broken.vmBeforeSnapshot {
		r.step = r.readVM
	} else {
		r.step = r.takeSnapshot
	}
}

func someColumns(rnd *rand.Rand) (columns []Column) {
	for _, c := range allColumns {
		if rnd.IntN(3) > 0 {
			columns = append(columns, c)
		}
	}
	rnd.Shuffle(len(columns), func(i, j int) { columns[i], columns[j] = columns[j], columns[i] })
	return columns
}

func (r *reader) takeSnapshot() {
	if r.snapshot == nil || !r.again {
		r.endSnapshot()
		r.snapshot = r.p.snapshot(r.own)
	}
	r.want = wantedRows(r.request.Columns, r.p.oracle(r.snapshot))
	r.step = r.readVM
	if r.broken.vmBeforeSnapshot {
		r.step = r.open
	}
}

func (r *reader) endSnapshot() {
	if r.snapshot != nil {
		r.p.drop(r.snapshot)
		r.snapshot = nil
	}
}

// readVM copies a page of the visibility map, under its lock.
func (r *reader) readVM() {
	q := r.request
	if q.Groups == nil {
		q.Blocks = r.p.blocks()
	}
	if n := len(q.Groups); n*GroupBlocks < int(q.Blocks) {
		g := Group{Visible: make([]byte, GroupBlocks/8)}
		if n < len(r.p.vm) {
			v := r.p.vm[n].now()
			g.LSN = v.lsn
			for at, block := range r.p.hot {
				if int(block/GroupBlocks) == n && (v.bits>>at&1 != 0 || r.broken.anyBit && at < len(r.p.heap)) {
					g.Visible[block%GroupBlocks/8] |= 1 << (block % 8)
				}
			}
		}
		if r.broken.anyVM && g.LSN != 0 {
			g.LSN = 1
		}
		q.Groups = append(q.Groups, g)
		return
	}
	q.Flushed = r.p.flushed
	if r.broken.unflushedVM {
		q.Flushed = ^uint64(0)
	}
	r.step = r.open
	if r.broken.vmBeforeSnapshot {
		r.step = r.takeSnapshot
	}
}

func (r *reader) open() {
	r.lease = r.s.Open(r.request)
	r.lazy = r.rnd.IntN(2) == 0
	r.rows = nil
	for at, block := range r.p.hot {
		if block < r.request.Blocks {
			r.todo = append(r.todo, at)
		}
	}
	r.rnd.Shuffle(len(r.todo), func(i, j int) { r.todo[i], r.todo[j] = r.todo[j], r.todo[i] })
	for i := range r.parts {
		r.parts[i] = participant{proved: map[int][]byte{}}
	}
	r.step = r.feed
}

// feed is a step of one of the participants.
func (r *reader) feed() {
	p := &r.parts[r.rnd.IntN(len(r.parts))]
	switch {
	case p.step != nil:
		p.step()
	case len(r.todo) > 0:
		at := r.todo[0]
		r.todo = r.todo[1:]
		r.block(p, at)
	case r.rnd.IntN(2) == 0:
		r.report(p)
	case r.parts[0].idle() && r.parts[1].idle():
		r.step = r.finish
	}
	if !r.lazy && r.rnd.IntN(4) == 0 {
		r.report(p)
	}
}

func (p *participant) idle() bool { return p.step == nil && len(p.batch) == 0 && len(p.proved) == 0 }

// later has the daemon do something now, or when the session has gone on.
func (r *reader) later(do func()) {
	if r.rnd.IntN(2) == 0 {
		do()
	} else {
		r.model.late = append(r.model.late, do)
	}
}

// report sends what the participant has proved and captured.
func (r *reader) report(p *participant) {
	for group, blocks := range p.proved {
		r.note(r.prove(r.lease, group, blocks))
	}
	clear(p.proved)
	if len(p.batch) > 0 {
		r.note(r.lease.Captured(segmentOf(r.request.Columns, p.ids), p.batch, &source{}))
		p.batch, p.ids = nil, nil
	}
}

func (r *reader) note(err error) {
	if err != nil && r.wrong == nil {
		r.wrong = err
	}
}

// block deals with a block as the lease says.
func (r *reader) block(p *participant, at int) {
	block := r.p.hot[at]
	group, i := int(block/GroupBlocks), int(block%GroupBlocks)
	kept, prove, lsns := r.lease.Blocks(group)
	state := r.lease.State(group)
	if isKept := kept[i/8]>>(i%8)&1 != 0; state == Kept && !isKept || state == Fed && isKept {
		r.note(fmt.Errorf("state %d of group %d contradicts block %d", state, group, i))
	}
	switch {
	case kept[i/8]>>(i%8)&1 != 0:
		r.counts[0]++
		return
	case prove[i/8]>>(i%8)&1 != 0:
		n := 0
		for j := range i {
			n += int(prove[j/8] >> (j % 8) & 1)
		}
		p.step = func() {
			p.step = nil
			if r.p.heap[at].now().lsn != lsns[n] && !r.broken.anyPage {
				r.collect(p, at)
				return
			}
			r.counts[1]++
			if p.proved[group] == nil {
				p.proved[group] = make([]byte, BitmapBytes)
			}
			p.proved[group][i/8] |= 1 << (i % 8)
		}
		return
	}
	r.collect(p, at)
}

// collect feeds a block in three steps, with the page pinned: before, the tuples, after.
func (r *reader) collect(p *participant, at int) {
	r.counts[2]++
	var before heapPage
	var ids []int64
	after := func() {
		p.step = nil
		r.pin(at, -1)
		now := r.p.heap[at].now()
		flag, lsn := before.visible && now.visible, now.lsn
		same := before.lsn == now.lsn && lsn <= r.p.flushed
		switch {
		case r.broken.noFlag:
			flag = true
		case r.broken.flagBefore:
			flag, same = before.visible, lsn <= r.p.flushed
		case r.broken.unflushedPage:
			same = before.lsn == now.lsn
		}
		if r.lease.Capture() && flag && same {
			p.batch = append(p.batch, Block{Number: r.p.hot[at], First: uint32(len(p.ids)), LSN: lsn})
			p.ids = append(p.ids, ids...)
		}
		r.rows = append(r.rows, wantedRows(r.request.Columns, ids)...)
	}
	tuples := func() {
		for _, t := range r.p.heap[at].now().tuples {
			if r.p.visible(r.snapshot, &t) {
				ids = append(ids, t.id)
			}
		}
		p.step = after
	}
	p.step = func() {
		r.pin(at, 1)
		before = r.p.heap[at].now()
		p.step = tuples
	}
}

func (r *reader) pin(at, n int) {
	if r.pinned == nil {
		r.pinned = map[int]int{}
	}
	r.pinned[at] += n
	r.p.pins[at] += n
}

// finish compares the rows with those of the oracle, and ends the query.
func (r *reader) finish() {
	rows, err := readRows(r.request.Columns, r.lease.Segments())
	r.note(err)
	rows = append(rows, r.rows...)
	slices.Sort(rows)
	slices.Sort(r.want)
	if !slices.Equal(rows, r.want) {
		r.note(fmt.Errorf("rows %q, wanted %q", rows, r.want))
	}
	l := r.lease
	r.later(func() { l.Close(true) })
	r.step, r.lease = nil, nil
	if r.queries--; r.queries == 0 {
		r.endTransaction()
	}
}

func (r *reader) endTransaction() {
	r.endSnapshot()
	if r.own != 0 {
		r.p.commit(r.own, r.rnd.IntN(2) == 0)
		r.own = 0
	}
	r.locked = false
	r.p.locks--
}

// crash ends the session. What its participants have reported may still be complete.
func (r *reader) crash() {
	if r.lease != nil {
		complete := len(r.todo) == 0 && r.parts[0].idle() && r.parts[1].idle()
		l := r.lease
		r.later(func() { l.Close(complete) })
	}
	r.reset()
}

func (r *reader) reset() {
	*r = reader{model: r.model, p: r.p, s: r.s, rnd: r.rnd, broken: r.broken, wrong: r.wrong, counts: r.counts}
}

// cancel aborts the query and its transaction. The daemon may get what the participants have
// sent, and close the lease, when the snapshot does not hold VACUUM back any more.
func (r *reader) cancel() {
	l, parts := r.lease, r.parts
	r.later(func() {
		for i := range parts {
			for group, blocks := range parts[i].proved {
				_ = r.prove(l, group, blocks) // that its blocks were captured, too, is not wrong here
			}
		}
		l.Close(false)
	})
	if r.own != 0 {
		r.p.xacts[r.own].status, r.own = aborted, 0
	}
	r.endTransaction()
	for at, n := range r.pinned {
		r.p.pins[at] -= n
	}
	r.reset()
}

// prove reports a proof. With lateProof, it counts for the VM LSN at which others have proved
// the chunk since.
func (r *reader) prove(l *Lease, group int, blocks []byte) error {
	if err := l.Proved(group, blocks); err != nil || !r.broken.lateProof {
		return err
	}
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	for i := range groupChunks {
		of := l.chunk(group*groupChunks + i)
		if set := chunkOf(blocks, i); !set.empty() {
			l.t.chunk(group*groupChunks + i).layouts(func(a *layout) {
				a.proof.add(a.proof.vm, set.and(of.pieces[0].layout.common(a)))
			})
		}
	}
	return nil
}

// mixVersions makes all layouts of each chunk pretend to have the newest version of their
// blocks.
func mixVersions(s *Store) {
	for _, t := range s.tables {
		for _, g := range t.groups {
			for _, c := range g.chunks {
				c.layouts(func(a *layout) {
					c.layouts(func(b *layout) {
						a.have.and(b.have).each(func(at int) {
							if a.rows[at] == b.rows[at] {
								a.lsn[at] = max(a.lsn[at], b.lsn[at])
							}
						})
					})
				})
			}
		}
	}
}
