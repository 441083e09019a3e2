//go:build cuda

package cuda

import (
	"context"
	"sync"

	"gpujoin/joincore"
	"gpujoin/joincore/cuda/driver"
	"gpujoin/joincore/cuda/op"
	"gpujoin/joincore/device"
)

// input is a base input and those of its columns that are on the device.
type input struct {
	*hostInput
	columns []*column
}

// column is a column on the device, from ready on.
type column struct {
	op.Column
	ready *driver.Event
}

// column returns a column of an input, which crosses the link now if it has
// not yet.
func (e *execution) column(ctx context.Context, ref joincore.ColumnRef) (*column, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	in := e.inputs[ref.Input]
	if c := in.columns[ref.Column]; c != nil {
		return c, nil
	}
	c, err := e.load(ctx, in, ref.Column)
	if err != nil {
		return nil, err
	}
	in.columns[ref.Column] = c
	return c, nil
}

// load queues the transfer of a column on the load stream.
func (e *execution) load(ctx context.Context, in *input, j int) (*column, error) {
	desc := in.relation.Columns[j]
	c := &column{Column: op.Column{Width: desc.Width}}
	var err error
	if in.nullable(j) {
		if c.Validity, err = e.loadValidity(ctx, in, j); err != nil {
			return nil, err
		}
	}
	if desc.Kind == joincore.Varlena {
		c.Values, err = e.loadTexts(ctx, in, j)
	} else {
		c.Values, err = e.loadValues(ctx, in, j, int64(desc.Width))
	}
	if err != nil {
		return nil, err
	}
	if c.ready, err = e.newEvent(); err != nil {
		return nil, err
	}
	return c, e.site.load.stream.Record(c.ready)
}

func (e *execution) loadValues(ctx context.Context, in *input, j int, width int64) (driver.Ptr, error) {
	at, err := e.alloc(in.rows() * width)
	if err != nil {
		return 0, err
	}
	for i := range in.relation.Segments {
		s := &in.relation.Segments[i]
		values := s.Columns[j].Values[:int64(s.Rows)*width]
		if err := e.copyIn(ctx, at+driver.Ptr(in.starts[i]*width), values); err != nil {
			return 0, err
		}
	}
	return at, nil
}

// loadValidity makes a byte a row of the segments' bitmaps.
func (e *execution) loadValidity(ctx context.Context, in *input, j int) (driver.Ptr, error) {
	at, err := e.alloc(in.rows())
	if err != nil {
		return 0, err
	}
	l := e.site.load
	for i := range in.relation.Segments {
		s := &in.relation.Segments[i]
		to, bits := at+driver.Ptr(in.starts[i]), s.Columns[j].Validity
		if bits == nil {
			if err := l.stream.Memset(to, 1, int64(s.Rows)); err != nil {
				return 0, err
			}
			continue
		}
		piece := l.device.Size() / 2
		for row := int64(0); row < int64(s.Rows); row += 8 * piece {
			n := min(8*piece, int64(s.Rows)-row)
			if err := e.copyIn(ctx, l.device.Base(), bits[row/8:(row+n+7)/8]); err != nil {
				return 0, err
			}
			if err := l.queue.Unpack(l.device.Base(), n, to+driver.Ptr(row)); err != nil {
				return 0, err
			}
		}
	}
	return at, nil
}

// loadTexts makes spans of the segments' offsets, beside the bytes that they
// span. A heap may have more bytes than its values need, and less.
func (e *execution) loadTexts(ctx context.Context, in *input, j int) (driver.Ptr, error) {
	at, err := e.alloc(16 * in.rows())
	if err != nil {
		return 0, err
	}
	for i := range in.relation.Segments {
		s := &in.relation.Segments[i]
		v := &s.Columns[j]
		offsets, err := e.alloc(4 * int64(s.Rows+1))
		if err != nil {
			return 0, err
		}
		heap, err := e.alloc(int64(len(v.Heap)))
		if err != nil {
			return 0, err
		}
		if err := e.copyIn(ctx, offsets, v.Values[:4*(s.Rows+1)]); err != nil {
			return 0, err
		}
		if err := e.copyIn(ctx, heap, v.Heap); err != nil {
			return 0, err
		}
		if err := e.site.load.queue.Spans(offsets, heap, int64(len(v.Heap)), int64(s.Rows), at+driver.Ptr(16*in.starts[i])); err != nil {
			return 0, err
		}
	}
	return at, nil
}

// copyIn queues a copy on the load stream: from where the memory lies, if it
// is registered, else through the halves of the lane's buffer in turn.
func (e *execution) copyIn(ctx context.Context, to driver.Ptr, from []byte) error {
	l := e.site.load
	if e.p.registered.holds(from) {
		return l.stream.CopyIn(to, from)
	}
	size := int(l.host.Size() / 2)
	for len(from) > 0 {
		half := l.turn
		l.turn = 1 - half
		if err := l.half[half].Sync(ctx); err != nil {
			return err
		}
		buffer := l.host.Bytes()[half*size:][:min(size, len(from))]
		if err := copyParallel(buffer, from); err != nil {
			return err
		}
		if err := l.stream.CopyIn(to, buffer); err != nil {
			return err
		}
		if err := l.stream.Record(l.half[half]); err != nil {
			return err
		}
		to += driver.Ptr(len(buffer))
		from = from[len(buffer):]
	}
	return nil
}

// copyPiece is how much of a copy is worth a goroutine.
const copyPiece = 1 << 20

// copyParallel fills to from the start of from, with several cores where that
// pays: one of them reads less than the link carries.
func copyParallel(to, from []byte) (err error) {
	if len(to) <= copyPiece {
		copy(to, from)
		return nil
	}
	var wait sync.WaitGroup
	errs := make([]error, (len(to)+copyPiece-1)/copyPiece)
	for i := range errs {
		wait.Go(func() {
			defer device.Recover(&errs[i])
			device.PanicOnFault()
			first := i * copyPiece
			copy(to[first:min(first+copyPiece, len(to))], from[first:])
		})
	}
	wait.Wait()
	for _, e := range errs {
		if e != nil {
			return e
		}
	}
	return nil
}
