//go:build cuda

package outofcore

import (
	"context"
	"encoding/binary"

	"gpujoin/joincore/cuda/driver"
	"gpujoin/joincore/cuda/rowid"
)

// The descriptors of kernels/layout/divide.h. That of a key is of package rowid.

type divideDescriptor struct {
	Rows, Parts, PartCount, Seed uint64
	Bits, Partition              uint64
	Count, Cursor, First         uint64
	Moved, MovedCount            uint64
}

type movedDescriptor struct {
	From, To, Bytes, Narrow, Base uint64
}

// rangeDescriptor and widenDescriptor are parameters of their kernels.
type rangeDescriptor struct {
	Values, Rows, Greatest uint64
}

type widenDescriptor struct {
	From, To, Rows, Base uint64
}

// descriptorBytes returns the size of a window's descriptors.
func (d *division) descriptorBytes() int64 {
	return int64(binary.Size(divideDescriptor{}) + len(d.key.Parts)*binary.Size(rowid.PartDescriptor{}) + len(d.moved)*binary.Size(movedDescriptor{}))
}

// describe copies the descriptors of a window to the device, which writes the partitioned
// rows to the given memory. The given half of
// the staging buffer must no longer be in use.
func (w *divider) describe(ctx context.Context, of window, half int, rows driver.Ptr) error {
	out, parts := &w.out[half], of.key.Parts
	at := out.descriptor + driver.Ptr(binary.Size(divideDescriptor{}))
	low, _ := of.view.Segments()
	d := divideDescriptor{
		Rows: uint64(of.view.Rows()), Parts: uint64(at), PartCount: uint64(len(parts)), Seed: divideSeed(of.input),
		Bits: uint64(of.bits), Partition: uint64(w.ids), Count: uint64(out.count), Cursor: uint64(w.cursors), First: uint64(of.input.Starts[low]),
		Moved: uint64(at) + uint64(len(parts)*binary.Size(rowid.PartDescriptor{})), MovedCount: uint64(len(of.moved)),
	}
	var key []rowid.PartDescriptor
	for _, p := range parts {
		c, err := of.view.Column(ctx, p.Column.Column)
		if err != nil {
			return err
		}
		key = append(key, rowid.PartDescriptor{Column: c.Descriptor(false)})
	}
	var list []movedDescriptor
	host := of.division.windows[of.index]
	places, _ := of.layout(of.view.Rows(), host)
	for i, m := range of.moved {
		to := movedDescriptor{To: uint64(rows) + uint64(places[i]), Bytes: uint64(m.bytes)}
		if how := host.how(i); how.narrow {
			to.Narrow, to.Base = 1, how.base
		}
		if m.kind != rowid.PayloadRowIDs {
			c, err := of.view.Column(ctx, m.column)
			if err != nil {
				return err
			}
			to.From = uint64(c.Values)
			if m.kind == rowid.PayloadValidity {
				to.From = uint64(c.Validity)
			}
		}
		list = append(list, to)
	}
	staging := w.part(half, 0, w.bytes)
	b := staging[:0]
	for _, part := range []any{d, key, list} {
		var err error
		if b, err = binary.Append(b, binary.LittleEndian, part); err != nil {
			return err
		}
	}
	return w.main.CopyIn(out.descriptor, staging[:len(b)])
}
