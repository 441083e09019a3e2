//go:build cuda

package outofcore

import (
	"context"

	"gpujoin/joincore/cuda/driver"
)

// uploadMoved queues the upload of a moved payload: the pieces of all windows, one after the
// other. Narrow ones are uploaded elsewhere first, and widened from there.
func (s *partitionView) uploadMoved(ctx context.Context, to Uploader, moved int) (driver.Ptr, error) {
	first, err := to.Alloc(s.Count() * int64(s.moved[moved].bytes))
	if err != nil {
		return 0, err
	}
	scratch := driver.Ptr(0)
	if n := s.narrowRows(moved); n > 0 {
		if scratch, err = to.Alloc(n * narrowBytes); err != nil {
			return 0, err
		}
	}
	var list []widenDescriptor
	err = to.Batched(func() (err error) {
		at := first
		for _, w := range s.windows[s.low:s.high] {
			rows, how := w.count[s.partition], w.how(moved)
			target := at
			if how.narrow {
				target = scratch
				list = widen(list, scratch, at, rows, how.base)
				scratch += driver.Ptr(rows * narrowBytes)
			}
			if err := s.queuePiece(ctx, to, target, w, moved); err != nil {
				return err
			}
			at += driver.Ptr(rows * int64(s.moved[moved].bytes))
		}
		return nil
	})
	if err != nil || len(list) == 0 {
		return first, err
	}
	st, err := to.Follow()
	for _, d := range list {
		if err == nil {
			err = s.launchWiden(st, d)
		}
	}
	return first, err
}

// queuePiece queues the copy of a window's part of a moved payload.
func (s *partitionView) queuePiece(ctx context.Context, to Uploader, at driver.Ptr, w *divided, moved int) error {
	bytes := w.how(moved).bytes(s.moved[moved].bytes)
	if w.resident == nil {
		return to.Copy(ctx, at, w.piece(moved, bytes, s.partition))
	}
	from := w.resident[moved] + driver.Ptr(w.start[s.partition]*int64(bytes))
	return to.CopyDevice(at, from, w.count[s.partition]*int64(bytes))
}

// narrowRows returns how many rows of a moved payload are stored in fewer bytes.
func (s *partitionView) narrowRows(moved int) (n int64) {
	for _, w := range s.windows[s.low:s.high] {
		if w.how(moved).narrow {
			n += w.count[s.partition]
		}
	}
	return n
}

// scratchBytes returns the device memory that the view needs in addition to its columns.
func (s *partitionView) scratchBytes() (n int64) {
	for m := range s.moved {
		n += driver.Lines(s.narrowRows(m) * narrowBytes)
	}
	return n
}

// widen adds a piece to a list, or to its last element if the piece continues that.
func widen(list []widenDescriptor, from, to driver.Ptr, rows int64, base uint64) []widenDescriptor {
	if rows == 0 {
		return list
	}
	if n := len(list) - 1; n >= 0 {
		if d := &list[n]; d.Base == base && d.From+d.Rows*narrowBytes == uint64(from) && d.To+d.Rows*wideBytes == uint64(to) {
			d.Rows += uint64(rows)
			return list
		}
	}
	return append(list, widenDescriptor{From: uint64(from), To: uint64(to), Rows: uint64(rows), Base: base})
}

// launchWiden queues the kernel that restores values.
func (s *partitionView) launchWiden(st *driver.Stream, d widenDescriptor) error {
	k, err := s.e.Device().kernels.Kernel("gj_divide_widen")
	if err != nil {
		return err
	}
	return k.Launch(st, k.Grid((int64(d.Rows)+int64(k.Rows)-1)/int64(k.Rows)), d.From, d.To, d.Rows, d.Base)
}
