//go:build cuda

package outofcore

import (
	"context"
	"encoding/binary"
	"runtime"
	"time"

	"gpujoin/joincore/cuda/hostinput"
	"gpujoin/joincore/cuda/rowid"
	"gpujoin/joincore/device"
)

// Dividers selects what partitions inputs that are larger than device memory.
// Tests restrict it.
type Dividers uint8

const (
	DeviceAndCores Dividers = iota
	DeviceAlone
	CoresAlone
	RowNumbersOnly // cores partition row ids, and rows are gathered during the upload
)

// spareCores are reserved for the threads that drive a device.
const spareCores = 3

// byCores partitions windows on the host, starting with the last one, until it
// meets the device, which starts with the first one. Windows partitioned on the
// host are uploaded only once.
func (w *divider) byCores(ctx context.Context) error {
	var ids []uint8
	took := time.Duration(0) // for a window
	for ctx.Err() == nil {
		i, start := w.shared.last(took), time.Now()
		if i < 0 {
			return nil
		}
		of := w.windows[i]
		if err := newWindow(w.e, of); err != nil {
			return err
		}
		host := of.division.windows[of.index]
		if n := int(of.view.Rows()); n > len(ids) {
			ids = make([]uint8, n)
		}
		cores := runtime.NumCPU()/w.shared.members - spareCores
		if err := of.divideOnHost(of.view, host, ids, max(1, cores)); err != nil {
			return err
		}
		took = time.Since(start)
	}
	return context.Cause(ctx)
}

// divideOnHost partitions a window like the kernels of
// kernels/agent/divide.cuh. It counts the rows of all segments first; then each
// segment writes its rows to their partitions, column by column. ids has one
// element per row, which receives the row's partition.
func (d *division) divideOnHost(v View, host *divided, ids []uint8, cores int) error {
	low, high := v.Segments()
	segments, partitions, starts := high-low, 1<<d.bits, d.input.Starts[low:]
	counts := make([]places, segments)
	err := hostinput.Each(segments, cores, func(i int) {
		var own places
		id := ids[starts[i]-starts[0]:]
		hashBlocks(d.input, d.key, low+i, func(row int, hash []uint64) {
			id := id[row:][:len(hash)]
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
	return hostinput.Each(segments, cores, func(i int) {
		s, first := &d.input.Relation.Segments[low+i], starts[i]
		id := ids[first-starts[0]:][:s.Rows]
		for m, moved := range d.moved {
			next := counts[i]
			switch moved.kind {
			case rowid.PayloadValues:
				scatterValues(host.columns[m], s.Columns[moved.column].Values[:s.Rows*moved.bytes], moved.bytes, id, &next)
			case rowid.PayloadValidity:
				scatterValidity(host.columns[m], s.Columns[moved.column].Validity, id, &next)
			case rowid.PayloadRowIDs:
				for row, p := range id {
					binary.LittleEndian.PutUint32(host.columns[m][4*next[p]:], uint32(first+int64(row)))
					next[p]++
				}
			}
		}
	})
}

// places holds a row position per partition. It has divideFan elements, which
// may exceed the number of partitions, so that every possible partition number
// is a valid index.
type places [divideFan]int64

// scatterValues writes each value to the next position of its row's partition.
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

// scatterValidity expands a bitmap to one byte per row; without a bitmap all
// rows are valid.
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

// newWindow allocates memory of the job for a window. It has the largest size of such a
// window, so that slabs suit later joins, however those store their values.
func newWindow(e Resources, of window) error {
	host := of.division.windows[of.index]
	memory, err := takeScratch(e, of.bytes(of.view.Rows()))
	if err != nil {
		return err
	}
	host.scratch, host.owner = memory, e
	places, bytes := of.layout(of.view.Rows(), host)
	host.scratch.bytes = memory.bytes[:bytes]
	for _, at := range places {
		host.columns = append(host.columns, memory.bytes[at:])
	}
	return nil
}

// both partitions on the device and on cores at the same time. The first error
// stops both. With several devices cores do not help: uploads and downloads of two
// devices take all of the memory bandwidth. Panics become errors: scratch memory must not be
// freed before all its users have stopped.
func (w *divider) both(ctx context.Context) error {
	dividers := []func(context.Context) error{w.byDevice, w.byCores}
	switch by := w.e.Device().By; {
	case by == DeviceAlone, by == DeviceAndCores && w.shared.members > 1:
		dividers = dividers[:1]
	case by == CoresAlone:
		dividers = dividers[1:]
	}
	return device.Workers(ctx, len(dividers), func(ctx context.Context, i int) error { return dividers[i](ctx) })
}
