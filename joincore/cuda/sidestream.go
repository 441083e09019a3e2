//go:build cuda

package cuda

import (
	"errors"

	"gpujoin/joincore/cuda/driver"
)

// sideStream is a stream for work within the device that belongs to uploads, so that the
// link from the host is busy meanwhile.
type sideStream struct {
	stream *driver.Stream // made on first use
	pieces driver.Batch   // copies of device memory that the present batch has
	last   bool           // the column that is being uploaded is complete after this stream
}

// beginSide has the stream follow all uploads so far.
func (w *workspace) beginSide(c *driver.Context) (err error) {
	if w.side.stream == nil {
		if w.side.stream, err = w.newStream(c); err != nil {
			return err
		}
	}
	return w.upload.stream.Then(w.side.stream)
}

// copyDevice adds a copy of device memory to those of a batch.
func (e *execution) copyDevice(to, from driver.Ptr, n int64) error {
	w := e.workspace
	if w.side.pieces.Len() == 0 { // the memory may have been used before
		if err := w.beginSide(e.p.context); err != nil {
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
func (w *workspace) followUploads(c *driver.Context) (*driver.Stream, error) {
	err := w.beginSide(c)
	w.side.last = err == nil
	return w.side.stream, err
}

// completes returns the stream after which the column that has been queued is complete.
func (w *workspace) completes(c *driver.Context) (*driver.Stream, error) {
	if !w.side.last {
		return w.upload.stream, nil
	}
	w.side.last = false
	return w.side.stream, w.beginSide(c) // its validity may have been uploaded since
}
