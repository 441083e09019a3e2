//go:build cuda

package cuda

import (
	"context"
	"encoding/binary"
	"errors"
	"runtime"

	"gpujoin/joincore/device"
)

// dividers are who divides inputs that are larger than the device; for tests
// not all of them.
type dividers uint8

const (
	deviceAndCores dividers = iota
	deviceAlone
	coresAlone
	rowNumbersOnly // by cores, and rows are gathered when they cross the link
)

// spareCores are left to what drives the device.
const spareCores = 3

// byCores divides windows from the last one on, until the device, which began
// with the first, has all others. What cores divide crosses the link only once.
func (w *divider) byCores(ctx context.Context) error {
	var ids []uint8
	for ctx.Err() == nil {
		i := w.claimLast()
		if i < 0 {
			return nil
		}
		of := w.windows[i]
		host, err := w.newWindow(of)
		if err != nil {
			return err
		}
		if n := int(of.view.rows); n > len(ids) {
			ids = make([]uint8, n)
		}
		if err := of.divideOnHost(of.view, host, ids, max(1, runtime.NumCPU()-spareCores)); err != nil {
			return err
		}
	}
	return context.Cause(ctx)
}

// divideOnHost does to a window what the kernels of kernels/agent/divide.cuh do: segments are
// counted first, and then each writes where its rows belong, a column after the
// other. ids has room for each row's partition.
func (d *division) divideOnHost(v *view, host *divided, ids []uint8, cores int) error {
	segments, partitions := v.high-v.low, 1<<d.bits
	counts := make([]places, segments)
	err := eachSegment(segments, cores, func(i int) {
		var own places
		id := ids[v.input.starts[v.low+i]-v.first():]
		d.input.hashBlocks(d.key, v.low+i, func(low int, hash []uint64) {
			id := id[low:][:len(hash)]
			for row, x := range hash {
				p := uint8(partitionOf(x, d.bits))
				id[row] = p
				own[p]++
			}
		})
		counts[i] = own
	})
	if err != nil {
		return err
	}
	at := int64(0)
	for p := range partitions {
		start := at
		for i := range counts {
			counts[i][p], at = at, at+counts[i][p]
		}
		host.start, host.count = append(host.start, start), append(host.count, at-start)
		at = (at + divideAlign - 1) / divideAlign * divideAlign
	}
	return eachSegment(segments, cores, func(i int) {
		s, first := &d.input.relation.Segments[v.low+i], v.input.starts[v.low+i]
		id := ids[first-v.first():][:s.Rows]
		for m, moved := range d.moved {
			next := counts[i]
			switch moved.kind {
			case values:
				scatterValues(host.columns[m], s.Columns[moved.column].Values[:s.Rows*moved.bytes], moved.bytes, id, &next)
			case validity:
				scatterValidity(host.columns[m], s.Columns[moved.column].Validity, id, &next)
			case rowNumbers:
				for row, p := range id {
					binary.LittleEndian.PutUint32(host.columns[m][4*next[p]:], uint32(first+int64(row)))
					next[p]++
				}
			}
		}
	})
}

// places are a row for each partition; more than there are, so that every number
// of a partition is one of its.
type places [divideFan]int64

// scatterValues writes each value to the next place of its row's partition.
func scatterValues(to, from []byte, width int, id []uint8, next *places) {
	switch width {
	case 4:
		for i, p := range id {
			at := next[p]
			next[p] = at + 1
			binary.LittleEndian.PutUint32(to[4*at:4*at+4], binary.LittleEndian.Uint32(from[4*i:4*i+4]))
		}
	case 8:
		for i, p := range id {
			at := next[p]
			next[p] = at + 1
			binary.LittleEndian.PutUint64(to[8*at:8*at+8], binary.LittleEndian.Uint64(from[8*i:8*i+8]))
		}
	default:
		for i, p := range id {
			copy(to[int64(width)*next[p]:], from[i*width:(i+1)*width])
			next[p]++
		}
	}
}

// scatterValidity writes a byte a row of a bitmap; none: all are valid.
func scatterValidity(to, bitmap []byte, id []uint8, next *places) {
	for i, p := range id {
		valid := byte(1)
		if bitmap != nil {
			valid = bitmap[i/8] >> (i % 8) & 1
		}
		to[next[p]] = valid
		next[p]++
	}
}

// claim says whether the device divides window i: it takes them in order.
func (w *divider) claim(i int) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if i >= w.high {
		return false
	}
	w.low = max(w.low, i+1)
	return true
}

// claimLast returns the last window that nobody divides; -1: there is none.
func (w *divider) claimLast() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.high <= w.low {
		return -1
	}
	w.high--
	return w.high
}

// newWindow takes memory of the job for a window.
func (w *divider) newWindow(of window) (*divided, error) {
	memory, err := w.e.takeScratch(of.bytes(of.view.rows))
	if err != nil {
		return nil, err
	}
	host := &of.division.windows[of.index]
	host.scratch = memory
	for m := range of.moved {
		host.columns = append(host.columns, memory.bytes[of.offset(m, of.view.rows):])
	}
	return host, nil
}

// both runs what the device divides and what cores do. What fails first stops
// the other.
func (w *divider) both(ctx context.Context) error {
	w.high = len(w.windows)
	by := w.e.p.divideBy
	if by == deviceAlone {
		return guarded(ctx, w.byDevice)
	}
	if by == coresAlone {
		return guarded(ctx, w.byCores)
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	done := make(chan error, 1)
	go func() {
		err := guarded(ctx, w.byCores)
		if err != nil {
			stop(err)
		}
		done <- err
	}()
	err := guarded(ctx, w.byDevice)
	if err != nil {
		stop(err)
	}
	return errors.Join(err, <-done)
}

// guarded makes a panic of who divides an error: scratch goes back only when
// nobody uses it any more.
func guarded(ctx context.Context, divide func(context.Context) error) (err error) {
	defer device.Recover(&err)
	device.PanicOnFault()
	return divide(ctx)
}
