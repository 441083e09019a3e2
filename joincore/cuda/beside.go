//go:build cuda

package cuda

import (
	"errors"

	"gpujoin/joincore/cuda/driver"
)

// beside is a stream for work that uploads need within the device, so that the link from the
// host is busy meanwhile.
type beside struct {
	stream *driver.Stream // made on first use
	pieces driver.Batch   // copies of device memory that the present batch has
	last   bool           // the column that is being uploaded is complete after this stream
}

// begin has the stream follow all uploads so far.
func (w *workspace) begin(c *driver.Context) (err error) {
	if w.beside.stream == nil {
		if w.beside.stream, err = w.newStream(c); err != nil {
			return err
		}
	}
	return w.upload.stream.Then(w.beside.stream)
}

// copyDevice adds a copy of device memory to those of a batch (batched).
func (e *execution) copyDevice(to, from driver.Ptr, n int64) error {
	w := e.workspace
	if w.beside.pieces.Len() == 0 { // the memory may have been used before
		if err := w.begin(e.p.context); err != nil {
			return err
		}
	}
	w.beside.pieces.AddDevice(to, from, n)
	return nil
}

// queueDeviceCopies queues the copies of device memory of a batch. Later uploads come after
// them.
func (w *workspace) queueDeviceCopies() error {
	if w.beside.pieces.Len() == 0 {
		return nil
	}
	return errors.Join(w.beside.pieces.Queue(w.beside.stream), w.beside.stream.Then(w.upload.stream))
}

// followUploads returns the stream, for kernels after which a column is complete.
func (w *workspace) followUploads(c *driver.Context) (*driver.Stream, error) {
	err := w.begin(c)
	w.beside.last = err == nil
	return w.beside.stream, err
}

// completes returns the stream after which the column that has been queued is complete.
func (w *workspace) completes(c *driver.Context) (*driver.Stream, error) {
	if !w.beside.last {
		return w.upload.stream, nil
	}
	w.beside.last = false
	return w.beside.stream, w.begin(c) // its validity may have been uploaded since
}
