//go:build cuda

package cuda

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"gpujoin/joincore"
	"gpujoin/joincore/cuda/driver"
	"gpujoin/joincore/cuda/hostinput"
	"gpujoin/joincore/device"
)

// stream gathers results on a transfer stream of its own.
type stream struct {
	e        *execution
	transfer *transferStream
	rows     rows
	// What has to go from the transfer stream's buffer to a batch, and whether values do.
	copy   []copyOut
	staged bool
}

// rows is a chunk of rows of a space.
type rows struct {
	space    *space
	first, n int64
	// host holds the row ids of this chunk, per input, that were needed on the
	// host.
	host map[int]hostinput.Numbers
}

// NewStream takes a transfer stream of the workspace.
func (e *execution) NewStream() (device.Stream, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.opened == len(e.workspace.gather) {
		return nil, fmt.Errorf("more than %d streams: %w", e.opened, joincore.ErrUnsupported)
	}
	l := e.workspace.gather[e.opened]
	if l.queue == nil {
		if err := e.workspace.prepare(l); err != nil {
			return nil, err
		}
	}
	e.opened++
	return &stream{e: e, transfer: l}, nil
}

// At returns the location of the stream's GPU.
func (st *stream) At() device.Location { return device.Location(st.transfer.stream.Device()) }

// Close leaves the transfer stream to the next execution.
func (st *stream) Close() {}

// Sync waits for all requested work.
func (st *stream) Sync(ctx context.Context) error { return st.transfer.stream.Sync(ctx) }

// Scan returns rows of a space.
func (st *stream) Scan(s device.Space, _, first, n int) device.Rows {
	st.rows = rows{space: st.e.space(s), first: int64(first), n: int64(n), host: map[int]hostinput.Numbers{}}
	return &st.rows
}

// Gather writes columns of variable length first, since they determine how many
// rows fit. Then the device gathers the columns it can, while the host copies
// the rest.
func (st *stream) Gather(r device.Rows, from int, columns []joincore.ColumnRef, dst *joincore.Batch, at int, heap []int) device.Count {
	n, wait, err := st.gather(context.Background(), r.(*rows), from, columns, dst, at, heap)
	if err != nil {
		err = errors.Join(err, st.settle())
		return device.Pending(st.At(), func(context.Context) (int64, error) { return 0, err })
	}
	return device.Pending(st.At(), func(ctx context.Context) (int64, error) { return int64(n), wait(ctx) })
}

func (st *stream) gather(ctx context.Context, r *rows, from int, columns []joincore.ColumnRef, dst *joincore.Batch, at int, heap []int) (n int, wait func(context.Context) error, err error) {
	defer device.Recover(&err) // no copy is in flight when Gather returns
	n = min(int(r.n)-from, dst.Rows-at)
	for i, ref := range columns {
		if st.e.describe(ref).Kind == joincore.Varlena {
			v := &dst.Columns[i]
			written, used, err := st.write(ctx, r, from, ref, v, at, heap[i], n)
			if err != nil {
				return 0, nil, err
			}
			heap[i], n = used, min(n, written)
		}
	}
	g := gathering{st: st, ctx: ctx, space: r.space, first: r.first + int64(from), n: int64(n), at: int64(at)}
	for i, ref := range columns {
		if st.e.describe(ref).Movable() {
			if err := g.column(ref, &dst.Columns[i]); err != nil {
				return 0, nil, err
			}
		}
	}
	for i, ref := range columns {
		desc, v := st.e.describe(ref), &dst.Columns[i]
		switch {
		case desc.Kind == joincore.Varlena: // a later column may have reduced the number of rows
			heap[i] = int(binary.LittleEndian.Uint32(v.Values[4*(at+n):]))
		case !desc.Movable():
			if _, _, err := st.write(ctx, r, from, ref, v, at, 0, n); err != nil {
				return 0, nil, err
			}
		}
	}
	return n, g.flush, nil
}

// write has the host copy a column into n rows of a batch. It returns how many rows it wrote, and
// the bytes of the heap then used: values of variable length may not fit.
func (st *stream) write(ctx context.Context, r *rows, from int, ref joincore.ColumnRef, v *joincore.Vector, at, used, n int) (written, newUsed int, err error) {
	desc := st.e.describe(ref)
	rows, covered, err := st.numbers(ctx, r, ref.Input)
	if err != nil {
		return 0, 0, err
	}
	if !covered {
		hostinput.WriteMissing(v, desc, at, used, n)
		return n, used, nil
	}
	reader, rows, err := st.reader(ctx, ref, rows.From(from), n)
	if err != nil {
		return 0, 0, err
	}
	if desc.Kind == joincore.Varlena {
		written, newUsed = reader.WriteVarlena(v, at, used, rows, n)
		return written, newUsed, nil
	}
	reader.WriteFixed(v, at, rows, n)
	return n, used, nil
}

// numbers returns the row ids of an input on the host.
func (st *stream) numbers(ctx context.Context, r *rows, input int) (_ hostinput.Numbers, covered bool, err error) {
	if known, ok := r.host[input]; ok {
		return known, true, nil
	}
	m, covered, err := r.space.numbers(input)
	if err != nil || !covered {
		return hostinput.Numbers{}, covered, err
	}
	if m.positions == 0 {
		r.host[input] = m.view.rangeOf(r.first, r.n)
		return r.host[input], true, nil
	}
	list, err := st.readNumbers(ctx, m.positions+driver.Ptr(4*r.first), r.n)
	if err != nil {
		return hostinput.Numbers{}, true, err
	}
	r.host[input] = m.view.numbersOf(list)
	return r.host[input], true, nil
}

// readNumbers copies row ids to the host.
func (st *stream) readNumbers(ctx context.Context, at driver.Ptr, n int64) ([]uint32, error) {
	out := make([]uint32, 0, n)
	if err := st.e.workspace.follow(st.transfer); err != nil {
		return nil, err
	}
	buffer := st.transfer.staging.Bytes()
	for int64(len(out)) < n {
		bytes := buffer[:4*min(n-int64(len(out)), int64(len(buffer)/4))]
		if err := st.transfer.stream.CopyOut(bytes, at+driver.Ptr(4*len(out))); err != nil {
			return nil, err
		}
		if err := st.transfer.stream.Sync(ctx); err != nil {
			return nil, err
		}
		for ; len(bytes) > 0; bytes = bytes[4:] {
			out = append(out, binary.LittleEndian.Uint32(bytes))
		}
	}
	return out, nil
}

// Measure returns the heap bytes of one row.
func (st *stream) Measure(r device.Rows, row int, columns []joincore.ColumnRef, heap []int) device.Count {
	return device.Pending(st.At(), func(ctx context.Context) (int64, error) {
		for i, ref := range columns {
			heap[i] = 0
			if st.e.describe(ref).Kind != joincore.Varlena {
				continue
			}
			found, covered, err := st.numbers(ctx, r.(*rows), ref.Input)
			if err != nil {
				return 0, err
			}
			if !covered {
				continue
			}
			reader, found, err := st.reader(ctx, ref, found.From(row), 1)
			if err != nil {
				return 0, err
			}
			if number, ok := found.At(0); ok {
				value, _ := reader.Varlena(number)
				heap[i] = hostinput.Padded(len(value), st.e.describe(ref).Align)
			}
		}
		return int64(len(columns)), nil
	})
}
