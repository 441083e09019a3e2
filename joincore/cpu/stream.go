package cpu

import (
	"context"

	"gpujoin/joincore/device"
)

// stream executes on the calling goroutine. Its vectors are small and on the Go heap.
type stream struct {
	dev     *dev
	scan    *rows
	marked  *rows
	rest    *rows  // the part of a chunk that is gathered
	table   *table // of BuildPartition
	merged  table  // of MergeMatch
	keys    keyer
	v8      []uint8
	v16     []uint16
	v32     []uint32
	v64     []uint64
	sel     []uint32
	texts   [64][]byte // scratch of conditions on texts
	begin   []uint32   // scratch of texts: where they are
	end     []uint32
	parts   []uint16 // of a division
	writer  writer
	first   []uint64 // scratch of keys
	second  []uint64
	null    []uint8
	todo    []uint32 // scratch of lookups
	slot    []uint32
	appends map[*tuples]*appender

	registers registers // of expressions
	memo      *memo     // of those that are shared; nil: none are
	groupers  map[*aggregation]*grouper
	closed    bool
}

// newStream returns a stream that was closed, or a new one.
func (d *dev) newStream() *stream {
	d.lock.Lock()
	if n := len(d.idle); n > 0 {
		s := d.idle[n-1]
		d.idle = d.idle[:n-1]
		d.lock.Unlock()
		s.closed = false
		return s
	}
	d.lock.Unlock()
	n := d.chunk
	s := &stream{
		dev: d, scan: newRows(n), marked: newRows(n), rest: newRows(n),
		v8: make([]uint8, n), v16: make([]uint16, n), v32: make([]uint32, n), v64: make([]uint64, n),
		sel: make([]uint32, n+pad), begin: make([]uint32, n), end: make([]uint32, n), parts: make([]uint16, n),
		first: make([]uint64, n), second: make([]uint64, n), null: make([]uint8, n),
		todo: make([]uint32, n), slot: make([]uint32, n),
		appends: map[*tuples]*appender{},
	}
	s.keys.init(s)
	return s
}

func (d *dev) NewStream() (device.Stream, error)           { return d.newStream(), nil }
func (d *dev) NewChunkStream() (device.ChunkStream, error) { return d.newStream(), nil }

// At returns the host.
func (st *stream) At() device.Location { return device.Host }

// Sync returns at once: every call has completed its work.
func (st *stream) Sync(context.Context) error { return nil }

// Close frees the stream's accounted memory. Its vectors serve the next stream.
func (st *stream) Close() {
	if st.closed {
		return
	}
	st.closed = true
	st.writer.free()
	if st.table != nil {
		st.table.Release()
		st.table = nil
	}
	st.merged = table{}
	st.memo, st.groupers = nil, nil
	clear(st.appends)
	st.dev.lock.Lock()
	st.dev.idle = append(st.dev.idle, st)
	st.dev.lock.Unlock()
}

func (st *stream) Scan(s device.Space, segment, first, n int) device.Rows {
	return st.scanRows(asSpace(s), segment, first, n)
}

func (st *stream) scanRows(s *space, segment, first, n int) *rows {
	st.scan.reset(n)
	st.scan.slots = append(st.scan.slots, slot{space: s, first: uint32(segment)<<s.shift | uint32(first), one: true})
	return st.scan
}

// eachRows calls f for all rows of some spans, a chunk at a time, until ctx is done.
func (st *stream) eachRows(ctx context.Context, s *space, spans []span, f func(r *rows) error) error {
	for _, p := range spans {
		for at := 0; at < p.n; at += st.dev.chunk {
			if err := st.yield(ctx); err != nil {
				return err
			}
			if err := f(st.scanRows(s, p.segment, p.first+at, min(st.dev.chunk, p.n-at))); err != nil {
				return err
			}
		}
	}
	return nil
}

// Marked selects by the marks of a space. If no mark was ever set, no row has found a
// partner.
func (st *stream) Marked(s device.Space, segment, first, n int, found bool) (device.Rows, device.Count) {
	sp := asSpace(s)
	in := st.scanRows(sp, segment, first, n)
	m := 0
	for i := range n {
		if sp.marks.has(in.slots[0].first+uint32(i)) == found {
			st.sel[m] = uint32(i)
			m++
		}
	}
	st.marked.take(in, st.sel[:m], m)
	return st.marked, device.Known(int64(m))
}

// stepRows is the number of rows between two checks of the context in work that is
// not divided into chunks: at most a few milliseconds.
const stepRows = 1 << 20

// stopped returns the reason to end the work, or nil.
func stopped(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

// yield is called after each chunk by a goroutine that has a turn. It lets waiting
// goroutines with precedence go first, and returns the reason to end the work, or nil.
func (st *stream) yield(ctx context.Context) error {
	st.dev.turns.Yield(ctx)
	return stopped(ctx)
}

// inSteps calls f for consecutive ranges of at most stepRows that cover [0, n), until
// ctx is done.
func inSteps(ctx context.Context, n int, f func(from, to int)) error {
	for from := 0; from < n; from += stepRows {
		if err := stopped(ctx); err != nil {
			return err
		}
		f(from, min(from+stepRows, n))
	}
	return nil
}

// zero clears v, of any size, until ctx is done.
func zero[T any](ctx context.Context, v []T) error {
	return inSteps(ctx, len(v), func(from, to int) { clear(v[from:to]) })
}
