//go:build cuda

package cuda

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"

	"gpujoin/joincore"
	"gpujoin/joincore/cuda/driver"
	"gpujoin/joincore/cuda/hostinput"
	"gpujoin/joincore/cuda/outofcore"
	"gpujoin/joincore/cuda/resident"
	"gpujoin/joincore/cuda/rowid"
)

// view is a set of rows of a base input: all rows, those of some segments, or
// those of a join out of core. Its rows are numbered separately, and only their
// columns are uploaded, so that the whole input need not be on the device.
type view struct {
	workspace *workspace
	input     *hostinput.Input
	number    int
	low, high int            // segments [low, high), if there is no source
	source    outofcore.Rows // of a join out of core; nil: segments
	rows      int64
	slot      *slot         // of a ring: memory that is taken first
	derived   *derived      // nil: the input is on the host
	shared    *sharing      // nil: no other execution reads the input
	whole     bool          // all rows of an input that are scanned: what it brings may stay on the device
	keeps     []*keptColumn // of the input's columns, if there is no source

	mu       sync.Mutex // guards what follows
	columns  []*column
	memory   rowid.Owned
	absolute *column // input row id of each row, made on first use
}

// column is a column on the device, valid after ready.
type column struct {
	rowid.Column
	ready *driver.Event
}

// segmentsView is a view of some segments.
func (e *execution) segmentsView(number int, low, high int) *view {
	in := e.inputs[number].Input
	return &view{
		workspace: e.workspace, input: in, number: number, low: low, high: high, keeps: e.inputs[number].keeps,
		rows: in.Starts[high] - in.Starts[low], columns: make([]*column, len(in.Relation.Columns)), memory: rowid.Owned{Memory: e.workspace},
	}
}

// viewOf is a view of rows in an order of their own.
func (e *execution) viewOf(number int, rows outofcore.Rows) *view {
	in := e.inputs[number].Input
	return &view{
		workspace: e.workspace, input: in, number: number, source: rows,
		rows: rows.Count(), columns: make([]*column, len(in.Relation.Columns)), memory: rowid.Owned{Memory: e.workspace},
	}
}

// space returns the rows of a view as a space.
func (v *view) space() *space {
	s := v.workspace.newSpace(v.rows)
	s.members[v.number] = member{view: v}
	return s
}

// first is the row of the input of row 0, where the view is one of segments.
func (v *view) first() int64 { return v.input.Starts[v.low] }

// allRows reports whether the view has all rows of an input on the host, in their order.
func (v *view) allRows() bool {
	return v.source == nil && v.derived == nil && v.rows == v.input.RowCount()
}

// Close frees the view's memory. Only work that is queued on the main stream may still
// read it. The memory is reused only after that work, and after uploads whose columns
// were never read.
func (v *view) Close() {
	v.mu.Lock()
	defer v.mu.Unlock()
	main := v.workspace.main.Stream()
	for _, c := range append(v.columns, v.absolute) {
		if c != nil {
			_ = main.Wait(c.ready) // fails only where the device is lost
		}
	}
	if v.slot != nil {
		_ = v.slot.leave(main) // likewise
		v.slot = nil
	}
	v.memory.Release()
	clear(v.columns)
	v.absolute = nil
}

// column returns a column. It is uploaded now if it is not on the device.
func (v *view) column(ctx context.Context, j int) (*column, error) {
	if v.shared != nil {
		return v.shared.column(ctx, v, j)
	}
	return v.own(ctx, j)
}

// own is column for a view that shares nothing.
func (v *view) own(ctx context.Context, j int) (*column, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if c := v.columns[j]; c != nil {
		return c, nil
	}
	k := v.kept(j)
	if k != nil && k.brought != nil && v.whole {
		v.columns[j] = k.brought // the view was closed meanwhile
		return k.brought, nil
	}
	c, err := v.transfer(func() (*column, error) { return v.load(ctx, j) })
	v.settled(j, c, err)
	if err != nil {
		return nil, fmt.Errorf("input %d, column %d: %w", v.number, j, err)
	}
	v.columns[j] = c
	return c, nil
}

// there says whether a column is on the device, or on its way.
func (v *view) there(j int) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.columns[j] != nil {
		return true
	}
	_, ok := v.inDevice(j)
	return ok
}

// transfer has queue queue the upload of a column, and records when it is complete. If
// queue fails, transfer frees the memory that it allocated, whose next user waits for the
// copies already queued.
func (v *view) transfer(queue func() (*column, error)) (*column, error) {
	v.workspace.loading.Lock()
	defer v.workspace.loading.Unlock()
	before := v.memory.Len()
	c, err := queue()
	last, failed := v.workspace.completes()
	if err = errors.Join(err, failed); err == nil {
		if c.ready, err = v.workspace.event(); err == nil {
			err = last.Record(c.ready)
		}
	}
	if err != nil {
		main := v.workspace.main.Stream()
		err = errors.Join(err, v.workspace.upload.stream.Then(main), last.Then(main))
		v.memory.ReleaseFrom(before)
		return nil, err
	}
	return c, nil
}

// Fetch uploads columns that will be read. It returns no error: reading a column that
// could not be uploaded tries again and reports the failure.
func (v *view) Fetch(ctx context.Context, columns []int) {
	for _, j := range columns {
		if _, err := v.column(ctx, j); err != nil {
			return
		}
	}
}

// numbersOf returns the rows of the input on the host, for rows of the view.
func (v *view) numbersOf(positions []uint32) hostinput.Numbers {
	out := make([]uint32, len(positions))
	for i, p := range positions {
		switch {
		case p == hostinput.None:
			out[i] = hostinput.None
		case v.source != nil:
			out[i] = v.source.Number(int64(p))
		default:
			out[i] = p + uint32(v.first())
		}
	}
	return hostinput.Numbers{List: out}
}

// rangeOf returns the rows of the input of consecutive rows of the view.
func (v *view) rangeOf(first, n int64) hostinput.Numbers {
	if v.source != nil {
		return hostinput.Numbers{List: v.source.Numbers(first, n)}
	}
	return hostinput.Numbers{First: v.first() + first}
}

// rowsOnDevice returns the row of the input of each row of the view; 0 where
// the two are the same.
func (v *view) rowsOnDevice(ctx context.Context, st *driver.Stream) (driver.Ptr, error) {
	if v.allRows() || v.derived != nil {
		return 0, nil
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.absolute == nil {
		c, err := v.transfer(func() (*column, error) { return v.loadNumbers(ctx) })
		if err != nil {
			return 0, err
		}
		v.absolute = c
	}
	return v.absolute.Values, st.Wait(v.absolute.ready)
}

func (v *view) loadNumbers(ctx context.Context) (c *column, err error) {
	c = &column{}
	if v.source != nil {
		c.Values, err = v.source.UploadNumbers(ctx, v)
		return c, err
	}
	if c.Values, err = v.Alloc(4 * v.rows); err != nil {
		return nil, err
	}
	return c, v.workspace.fill(ctx, c.Values, 4*v.rows, 4, func(to []byte, at int64) error {
		for i := range len(to) / 4 {
			binary.LittleEndian.PutUint32(to[4*i:], uint32(v.first()+at/4)+uint32(i))
		}
		return nil
	})
}

// Bytes is what columns of the view take on the device.
func (v *view) Bytes(columns []int) int64 {
	n := int64(0)
	for _, j := range columns {
		desc := v.input.Relation.Columns[j]
		if v.input.Nullable(j) {
			n += driver.Lines(v.rows)
		}
		if desc.Kind == joincore.Fixed {
			n += driver.Lines(v.rows * int64(desc.Width))
			continue
		}
		offsets, heaps := v.textBytes(j)
		n += driver.Lines(rowid.SpanBytes*v.rows) + offsets + heaps
	}
	return n
}

// load queues the upload of a column on the load stream.
func (v *view) load(ctx context.Context, j int) (*column, error) {
	desc := v.input.Relation.Columns[j]
	if v.derived != nil {
		return nil, fmt.Errorf("a column of groups that is not on the device: %w", joincore.ErrUnsupported)
	}
	c := &column{Column: rowid.Column{Width: desc.Width}}
	var err error
	if v.source != nil {
		c.Column, err = v.source.Upload(ctx, v, j)
		return c, err
	}
	if here, ok := v.inDevice(j); ok {
		c.Column = here
		return c, nil
	}
	if v.input.Nullable(j) {
		if c.Validity, err = v.take(j, v.rows); err != nil {
			return nil, err
		}
	}
	var runs []resident.Run[*residentColumn] // rows that need not cross the link
	if desc.Kind == joincore.Varlena {
		err = v.loadTexts(ctx, j, c)
	} else {
		runs = v.kept(j).runs(v.first(), v.rows)
		err = v.loadValues(ctx, j, c, runs)
	}
	if err == nil && c.Validity != 0 {
		err = v.loadValidity(ctx, j, c.Validity, runs)
	}
	return c, err
}

// eachSegment visits the view's segments with the number of their first row.
func (v *view) eachSegment(visit func(s *joincore.Segment, first int64) error) error {
	for i := v.low; i < v.high; i++ {
		if err := visit(&v.input.Relation.Segments[i], v.input.Starts[i]-v.first()); err != nil {
			return err
		}
	}
	return nil
}

func (v *view) loadValues(ctx context.Context, j int, c *column, runs []resident.Run[*residentColumn]) (err error) {
	width := int64(c.Width)
	if c.Values, err = v.take(j, v.rows*width); err != nil {
		return err
	}
	if err = v.loadKept(runs, c); err != nil {
		return err
	}
	return v.workspace.batched(func() error {
		return v.eachMissing(runs, func(s *joincore.Segment, first int64) error {
			return v.workspace.copyInput(ctx, c.Values+driver.Ptr(first*width), s.Columns[j].Values[:int64(s.Rows)*width])
		})
	})
}

// loadValidity expands the segments' bitmaps to one byte per row.
func (v *view) loadValidity(ctx context.Context, j int, at driver.Ptr, runs []resident.Run[*residentColumn]) error {
	l := v.workspace.upload
	return v.eachMissing(runs, func(s *joincore.Segment, first int64) error {
		to, bits := at+driver.Ptr(first), s.Columns[j].Validity
		if bits == nil {
			return l.stream.Memset(to, 1, int64(s.Rows))
		}
		piece := 8 * (l.scratchBytes / 2)
		for row := int64(0); row < int64(s.Rows); row += piece {
			n := min(piece, int64(s.Rows)-row)
			if err := v.workspace.copyInput(ctx, l.scratch.Base(), bits[row/8:(row+n+7)/8]); err != nil {
				return err
			}
			if err := l.queue.Unpack(l.scratch.Base(), n, to+driver.Ptr(row)); err != nil {
				return err
			}
		}
		return nil
	})
}

// textBytes returns what the offsets and the heaps of a column's segments take on the device.
func (v *view) textBytes(j int) (offsets, heaps int64) {
	for i := v.low; i < v.high; i++ {
		s := &v.input.Relation.Segments[i]
		offsets += driver.Lines(4 * int64(s.Rows+1))
		heaps += driver.Lines(int64(len(s.Columns[j].Heap)))
	}
	return offsets, heaps
}

// loadTexts uploads the segments' heaps and turns their offsets into spans. A
// heap may be larger or smaller than its offsets imply.
func (v *view) loadTexts(ctx context.Context, j int, c *column) (err error) {
	if c.Values, err = v.take(j, rowid.SpanBytes*v.rows); err != nil {
		return err
	}
	offsetBytes, heapBytes := v.textBytes(j)
	offsets, err := v.take(j, offsetBytes)
	if err != nil {
		return err
	}
	heap, err := v.take(j, heapBytes)
	if err != nil {
		return err
	}
	return v.eachSegment(func(s *joincore.Segment, first int64) error {
		vector := &s.Columns[j]
		defer func() {
			offsets += driver.Ptr(driver.Lines(4 * int64(s.Rows+1)))
			heap += driver.Ptr(driver.Lines(int64(len(vector.Heap))))
		}()
		if err := v.workspace.copyInput(ctx, offsets, vector.Values[:4*(s.Rows+1)]); err != nil {
			return err
		}
		if err := v.workspace.copyInput(ctx, heap, vector.Heap); err != nil {
			return err
		}
		return v.workspace.upload.queue.Spans(offsets, heap, int64(len(vector.Heap)), int64(s.Rows), c.Values+driver.Ptr(rowid.SpanBytes*first))
	})
}
