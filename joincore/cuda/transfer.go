//go:build cuda

package cuda

import (
	"context"
	"errors"

	"gpujoin/joincore"
	"gpujoin/joincore/cuda/driver"
	"gpujoin/joincore/cuda/hostinput"
)

// follow makes a transfer stream wait for all steps so far.
func (w *workspace) follow(l *transferStream) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.main.Stream().Then(l.stream)
}

// batched queues the copies of registered memory that queue makes in batches.
func (w *workspace) batched(queue func() error) error {
	l := w.upload
	l.batching = true
	err := queue()
	l.batching = false
	return errors.Join(err, l.batch.Queue(l.stream), w.queueDeviceCopies())
}

// copyIn queues a copy on the stream of uploads as suits the platform: directly, or staged through the
// transfer stream's buffer.
func (w *workspace) copyIn(ctx context.Context, to driver.Ptr, from []byte) error {
	return w.copyBy(ctx, w.gpu.transferMethod(from), to, from)
}

// fill queues a transfer of bytes that write makes, given where in them it is,
// in the halves of the transfer stream's buffer in turn. Each part consists of
// whole values of value bytes.
func (w *workspace) fill(ctx context.Context, to driver.Ptr, bytes, value int64, write func(buffer []byte, at int64) error) error {
	l := w.upload
	size := l.scratchBytes / 2 / value * value
	for at := int64(0); at < bytes; at += size {
		half := l.turn
		l.turn = 1 - half
		if err := l.halfCopied[half].Sync(ctx); err != nil {
			return err
		}
		buffer := l.staging.Bytes()[int64(half)*(l.scratchBytes/2):][:min(size, bytes-at)]
		if err := write(buffer, at); err != nil {
			return err
		}
		if err := l.stream.CopyIn(to+driver.Ptr(at), buffer); err != nil {
			return err
		}
		if err := l.stream.Record(l.halfCopied[half]); err != nil {
			return err
		}
	}
	return nil
}

// copyOut queues a copy to the host: directly if the memory is registered,
// otherwise staged through the halves of the transfer stream's buffer, for
// which it waits.
func (w *workspace) copyOut(ctx context.Context, to []byte, from driver.Ptr) error {
	l := w.download
	if w.gpu.pageLocked(to) {
		return l.stream.CopyOut(to, from)
	}
	size := int(l.scratchBytes / 2)
	half := func(at int) []byte { return l.staging.Bytes()[at/size%2*size:][:min(size, len(to)-at)] }
	queue := func(at int) error {
		if at >= len(to) {
			return nil
		}
		if err := l.stream.CopyOut(half(at), from+driver.Ptr(at)); err != nil {
			return err
		}
		return l.stream.Record(l.halfCopied[at/size%2])
	}
	if err := queue(0); err != nil {
		return err
	}
	for at := 0; at < len(to); at += size {
		if err := queue(at + size); err != nil {
			return err
		}
		w.main.Spend(joincore.DeviceWork{Syncs: 1})
		if err := l.halfCopied[at/size%2].Sync(ctx); err != nil {
			return err
		}
		piece := half(at)
		if err := hostinput.InPieces(len(piece), func(low, high int) { copy(to[at+low:at+high], piece[low:high]) }); err != nil {
			return err
		}
	}
	return nil
}

// downloadStream returns the transfer stream for downloads.
func (w *workspace) downloadStream() (*transferStream, error) {
	if w.download.queue != nil {
		return w.download, nil
	}
	return w.download, w.prepare(w.download)
}

// sideStream is a stream for work within the device that belongs to uploads, so that the
// link from the host is busy meanwhile.
type sideStream struct {
	stream *driver.Stream // made on first use
	pieces driver.Batch   // copies of device memory that the present batch has
	last   bool           // the column that is being uploaded is complete after this stream
}

// beginSide has the stream follow all uploads so far.
func (w *workspace) beginSide() (err error) {
	if w.side.stream == nil {
		if w.side.stream, err = w.newStream(); err != nil {
			return err
		}
	}
	return w.upload.stream.Then(w.side.stream)
}

// copyDevice adds a copy of device memory to those of a batch.
func (w *workspace) copyDevice(to, from driver.Ptr, n int64) error {
	if w.side.pieces.Len() == 0 { // the memory may have been used before
		if err := w.beginSide(); err != nil {
			return err
		}
	}
	w.side.pieces.AddDevice(to, from, n)
	return nil
}

// queueDeviceCopies queues the copies of device memory of a batch. Later uploads come after
// them.
func (w *workspace) queueDeviceCopies() error {
	if w.side.pieces.Len() == 0 {
		return nil
	}
	return errors.Join(w.side.pieces.Queue(w.side.stream), w.side.stream.Then(w.upload.stream))
}

// followUploads returns the stream, for kernels after which a column is complete.
func (w *workspace) followUploads() (*driver.Stream, error) {
	err := w.beginSide()
	w.side.last = err == nil
	return w.side.stream, err
}

// completes returns the stream after which the column that has been queued is complete.
func (w *workspace) completes() (*driver.Stream, error) {
	if !w.side.last {
		return w.upload.stream, nil
	}
	w.side.last = false
	return w.side.stream, w.beginSide() // its validity may have been uploaded since
}
