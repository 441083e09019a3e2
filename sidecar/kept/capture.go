package kept

import (
	"fmt"
	"sync/atomic"

	"gpujoin/joincore"
)

// batch is rows of whole blocks that a participant has handed over, in memory that the store
// does not own: a peer may still write to it. What is read from it is checked when it is
// copied.
type batch struct {
	segment joincore.Segment
	source  Source
	users   atomic.Int32 // the lease, and chunks that are still to be copied from it
	blocks  []captured
}

// captured is a block of a batch. There is one for every block of the table while it is
// captured, so it is small.
type captured struct {
	number, first uint32
	rows          uint16
	lsn           uint64
}

func (b *batch) release() {
	if b.users.Add(-1) == 0 {
		b.source.Release()
	}
}

// Captured takes a batch of the rows of whole blocks, unfiltered, with all columns of the
// request in their order, and with the blocks in the order of their rows. Rows before the
// first block are not of this table. It retains the source. An error wraps ErrLease or joincore.ErrInvalid; then nothing is recorded.
func (l *Lease) Captured(seg joincore.Segment, blocks []Block, source Source) error {
	if l.capture == 0 {
		return fmt.Errorf("%w: blocks of a scan that does not capture", ErrLease)
	}
	relation := joincore.Relation{Segments: []joincore.Segment{seg}}
	for i := range l.request.Columns {
		relation.Columns = append(relation.Columns, l.request.Columns[i].Physical)
	}
	if err := relation.Check(); err != nil {
		return fmt.Errorf("%w: captured rows: %w", ErrLease, err)
	}
	list, err := l.blocksOf(seg.Rows, blocks)
	if err != nil {
		return err
	}
	l.s.mu.Lock()
	defer l.s.mu.Unlock()
	if l.closed {
		return fmt.Errorf("%w: captured blocks after the end of the scan", ErrLease)
	}
	if err := l.take(list); err != nil {
		return err
	}
	b := &batch{segment: seg, source: source, blocks: list}
	b.users.Store(1)
	source.Retain()
	l.batches = append(l.batches, b)
	return nil
}

// blocksOf checks the numbers that describe a batch's blocks.
func (l *Lease) blocksOf(rows int, blocks []Block) ([]captured, error) {
	list := make([]captured, 0, len(blocks))
	for i, b := range blocks {
		end := uint32(min(rows, 1<<31))
		if i+1 < len(blocks) {
			end = blocks[i+1].First
		}
		switch {
		case b.Number >= l.capture || int(b.Number/GroupBlocks) >= len(l.request.Groups):
			return nil, fmt.Errorf("%w: captured block %d of %d in %d groups", ErrLease, b.Number, l.capture, len(l.request.Groups))
		case end < b.First, int64(end) > int64(rows), end-b.First > mostRows:
			return nil, fmt.Errorf("%w: rows %d to %d of %d for captured block %d", ErrLease, b.First, end, rows, b.Number)
		}
		list = append(list, captured{b.Number, b.First, uint16(end - b.First), b.LSN})
	}
	if len(blocks) == 0 {
		return nil, fmt.Errorf("%w: a captured batch of no blocks", ErrLease)
	}
	return list, nil
}

// take records that blocks have been captured. A block that is served, too, would have its
// rows twice.
func (l *Lease) take(list []captured) error {
	for i, b := range list {
		chunk, at := place(b.number)
		taken, c := l.taken[chunk], l.chunk(chunk)
		if taken == nil {
			taken = &blockSet{}
			l.taken[chunk] = taken
		}
		before := taken.has(at)
		if c != nil {
			served := c.served()
			before = before || served.has(at)
		}
		if before {
			for _, undo := range list[:i] {
				chunk, at := place(undo.number)
				l.taken[chunk].drop(at)
			}
			return fmt.Errorf("%w: block %d is captured, and was served or captured before", ErrLease, b.number)
		}
		taken.add(at)
	}
	return nil
}

// queue makes the work of what the lease has captured: one copying for each chunk. It reports
// whether there is any. The caller holds the store's lock.
func (l *Lease) queue() bool {
	chunks := map[int]*copying{}
	last := &copying{chunk: -1} // most blocks are in the chunk of the one before
	for _, b := range l.batches {
		for i := range b.blocks {
			if b.blocks[i].lsn == 0 {
				continue
			}
			chunk, _ := place(b.blocks[i].number)
			w := last
			if w.chunk != chunk {
				w = chunks[chunk]
			}
			if w == nil {
				w = &copying{table: l.t, lease: l, columns: l.columns, chunk: chunk, vm: l.proofOf(chunk), now: l.request.Now}
				chunks[chunk] = w
				l.s.pending = append(l.s.pending, w)
			}
			if n := len(w.parts); n == 0 || w.parts[n-1].batch != b {
				w.batches = append(w.batches, b)
				b.users.Add(1)
			}
			w.parts = append(w.parts, part{b, i})
			last = w
			l.queued++
		}
	}
	return len(chunks) > 0
}

// proofOf returns what capturing blocks of a chunk proves: a block was captured after the VM
// page was copied, so while that has the LSN and the block's bit, the block is as it was
// captured.
func (l *Lease) proofOf(chunk int) proof {
	vm := &l.request.Groups[chunk/groupChunks]
	if !l.provable(vm) {
		return proof{}
	}
	return proof{vm.LSN, chunkOf(vm.Visible, chunk%groupChunks)}
}
