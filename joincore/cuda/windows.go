//go:build cuda

package cuda

import (
	"context"
	"slices"

	"gpujoin/joincore"
	"gpujoin/joincore/cuda/driver"
	"gpujoin/joincore/cuda/outofcore"
	"gpujoin/joincore/device"
)

// columnsRead returns the columns of an input that a join reads on the device,
// and those that are gathered there from its result, in the order in which
// they are needed.
func (e *execution) columnsRead(input int, key *device.Key, residual joincore.Expr, keep device.Keep) []int {
	var refs []joincore.ColumnRef
	for _, p := range key.Parts {
		refs = append(refs, p.Column)
	}
	if residual != nil {
		refs = append(refs, joincore.Columns(residual)...)
	}
	for _, ref := range keep.Columns {
		if e.describe(ref).Movable() {
			refs = append(refs, ref)
		}
	}
	return columnsOf(input, refs)
}

// columnsOf returns those of some columns that are an input's, each once.
func columnsOf(input int, refs []joincore.ColumnRef) (columns []int) {
	for _, ref := range refs {
		if ref.Input == input && !slices.Contains(columns, ref.Column) {
			columns = append(columns, ref.Column)
		}
	}
	return columns
}

// base returns the view of a space that is nothing but an input.
func (s *space) base() (*view, bool) {
	for _, m := range s.members {
		return m.view, len(s.members) == 1 && len(s.carried) == 0 && m.positions == 0
	}
	return nil, false
}

// windows divides an input of which the columns are still on the host into
// views of neighbouring segments that probe a table of build rows. It returns
// nil if that is not faster.
func (e *execution) windows(v *view, columns []int, build int64) []*view {
	if v.shared != nil && v.Bytes(columns) <= e.workspace.arena.Free()/2 {
		return nil // each device uploads a part of it only
	}
	if !v.whole || !slices.ContainsFunc(columns, func(j int) bool { return !v.there(j) }) {
		return nil
	}
	if e.keepsAll(v, columns) {
		return nil
	}
	target := min(windowTarget(v.rows, build, e.width(v.number, columns)), e.workspace.arena.Free()/8/v.input.BytesPerRow(columns))
	if e.workspace.gpu.outOfCore.WindowRows > 0 {
		target = e.workspace.gpu.outOfCore.WindowRows
	}
	if v.rows <= 2*target {
		return nil
	}
	// Nothing is joined, nor goes back, before the first one has crossed.
	return e.cut(v, max(target/4, 1), target)
}

// eachWindow calls work for the rows of a space: for windows of them, of which one is worked on
// while the next ones cross the link, if the space is an input for which that is faster. read
// returns the columns that are read of an input, which probe a table of build rows.
func (e *execution) eachWindow(ctx context.Context, from *space, read func(input int) []int, build int64, work func(*space) error) error {
	v, ok := from.base()
	if !ok {
		return work(from)
	}
	columns := read(v.number)
	parts := e.windows(v, columns, build)
	if parts == nil {
		return work(from)
	}
	ring, err := e.ringFor(parts, columns)
	if err != nil {
		return err
	}
	defer func() {
		for _, part := range parts {
			part.Close()
		}
		ring.Close()
	}()
	return outofcore.Stages(ctx, len(parts), ringSlots-1, func(ctx context.Context, i int) { parts[i].Fetch(ctx, columns) }, func(i int) error {
		defer parts[i].Close()
		return work(parts[i].space())
	})
}

// width returns the bytes of a row's values of columns of an input, without those of
// variable length.
func (e *execution) width(input int, columns []int) (n int64) {
	for _, j := range columns {
		n += int64(e.describe(joincore.ColumnRef{Input: input, Column: j}).Width)
	}
	return n
}

// cut divides an input into views of neighbouring segments, of `target` rows or
// somewhat more, the first one of `first`.
func (e *execution) cut(v *view, first, target int64) []*view {
	var out []*view
	low, rows := v.low, first
	for high := low + 1; high <= v.high; high++ {
		if high == v.high || v.input.Starts[high]-v.input.Starts[low] >= rows {
			out = append(out, e.segmentsView(v.number, low, high))
			low, rows = high, target
		}
	}
	return out
}

// ringFor takes memory for views of an input that follow each other.
func (e *execution) ringFor(views []*view, columns []int) (*ring, error) {
	most := int64(0)
	for _, v := range views {
		most = max(most, v.Bytes(columns))
	}
	r, err := e.workspace.newRing(ringSlots, most)
	if err != nil {
		return nil, err
	}
	for i, v := range views {
		r.Use(i%ringSlots, v)
	}
	return r, nil
}

// ring is memory for consecutive views: while one view is joined, the next ones
// are uploaded into the other slots. No step uses the memory for anything else,
// so a copy into a slot waits only for the view that used the slot before.
type ring struct {
	workspace *workspace
	at        driver.Ptr
	bytes     int64 // of all slots
	slots     []slot
}

type slot struct {
	at          driver.Ptr
	bytes, used int64
	free        *driver.Event // of the main stream: the view before has been read
	read        bool          // it has been recorded
}

// newRing allocates a ring with n slots of the given size.
func (s *workspace) newRing(n int, bytes int64) (*ring, error) {
	bytes = driver.Lines(bytes)
	r := &ring{workspace: s, bytes: int64(n) * bytes, slots: make([]slot, n)}
	for i := range r.slots {
		event, err := s.event()
		if err != nil {
			return nil, err
		}
		r.slots[i] = slot{bytes: bytes, free: event}
	}
	at, err := s.Alloc(r.bytes)
	if err != nil {
		return nil, err
	}
	r.at = at
	for i := range r.slots {
		r.slots[i].at = at + driver.Ptr(int64(i)*bytes)
	}
	return r, nil
}

// Use makes a view take its memory from a slot as long as that has enough.
func (r *ring) Use(slot int, v outofcore.View) { v.(*view).slot = &r.slots[slot] }

// Close frees the memory. All views must have been closed.
func (r *ring) Close() { r.workspace.Free(r.at, r.bytes) }

// take returns memory of a slot for a copy on the load stream, or false if too
// little is left.
func (s *slot) take(load *driver.Stream, bytes int64) (driver.Ptr, bool, error) {
	bytes = driver.Lines(bytes)
	if bytes > s.bytes-s.used {
		return 0, false, nil
	}
	if s.used == 0 && s.read {
		if err := load.Wait(s.free); err != nil {
			return 0, false, err
		}
	}
	at := s.at + driver.Ptr(s.used)
	s.used += bytes
	return at, true, nil
}

// leave must be called when all reads of the slot have been queued on the main
// stream.
func (s *slot) leave(main *driver.Stream) error {
	s.used, s.read = 0, true
	return main.Record(s.free)
}
