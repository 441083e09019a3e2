package bulk

import (
	"gpujoin/joincore"
	"gpujoin/joincore/device"
)

// stream reads results through the inner device's stream and unwraps handles.
type stream struct {
	device.Stream
}

func (d *dev) NewStream() (device.Stream, error) {
	inner, err := d.inner.NewStream()
	if err != nil {
		return nil, err
	}
	return &stream{inner}, nil
}

// rows are rows of a space, as a handle.
type rows struct {
	device.Rows
	space *space
}

func (s *stream) Scan(sp device.Space, segment, first, n int) device.Rows {
	h := use(sp)
	h.Segments()
	return &rows{Rows: s.Stream.Scan(h.inner, segment, first, n), space: h}
}

func (s *stream) Gather(r device.Rows, from int, columns []joincore.ColumnRef, dst *joincore.Batch, at int, heap []int) device.Count {
	in := r.(*rows)
	use(in.space).mustHold(columns...)
	return s.Stream.Gather(in.Rows, from, columns, dst, at, heap)
}

func (s *stream) Measure(r device.Rows, row int, columns []joincore.ColumnRef, heap []int) device.Count {
	in := r.(*rows)
	use(in.space).mustHold(columns...)
	return s.Stream.Measure(in.Rows, row, columns, heap)
}
