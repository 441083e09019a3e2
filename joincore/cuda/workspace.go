//go:build cuda

package cuda

import (
	"context"
	"errors"

	"gpujoin/joincore/cuda/driver"
	"gpujoin/joincore/cuda/rowid"
)

// workspace is the memory and the streams of one execution; later executions reuse it.
type workspace struct {
	bytes    int64
	arena    *driver.Arena     // the stack, without the scratch of transfer streams
	main     *rowid.Queue      // all steps, in order
	upload   *transferStream   // imports
	download *transferStream   // spaces spilled to the host; made on first use
	gather   []*transferStream // results
	peer     *driver.Stream    // copies from other devices; nil: it reaches none
	side     sideStream
	streams  []*driver.Stream
	events   []*driver.Event // not used by an execution
	staging  *driver.Host    // for descriptors and counts of divisions
	heap     heap
}

// transferStream is a stream with the buffers for its transfers.
type transferStream struct {
	queue        *rowid.Queue
	stream       *driver.Stream
	scratch      *driver.Arena    // device memory
	scratchBytes int64            // size of scratch
	staging      *driver.Host     // as large as the scratch
	halfCopied   [2]*driver.Event // when a half of the buffer has been copied
	turn         int
	batch        driver.Batch // only of the upload stream
	batching     bool         // copies of registered memory join the batch
}

// empty frees all of the scratch.
func (l *transferStream) empty() {
	l.scratch.Rewind(0)
	l.scratch.Extend(l.scratchBytes - l.scratch.Size())
}

// stagingBytes returns the scratch size of a transfer stream: a fraction of small workspaces.
func stagingBytes(workspace int64) int64 {
	return min(max(workspace/128, 64<<10), 16<<20) / driver.Line * driver.Line
}

// newWorkspace divides the next bytes of the arena. The gather streams are made on first
// use, in memory reserved here.
func (p *Provider) newWorkspace(bytes int64) (*workspace, error) {
	s, mark := &workspace{bytes: bytes}, p.arena.Mark()
	if err := s.open(p); err != nil {
		p.arena.Rewind(mark)
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

func (s *workspace) open(p *Provider) (err error) {
	if s.arena, err = p.arena.Part(s.bytes); err != nil {
		return err
	}
	s.heap = heap{
		cut: func(n int64) (int64, error) {
			at, err := s.arena.Cut(n)
			return int64(at), err
		},
		extend: s.arena.Extend,
	}
	stream, err := s.newStream(p.context)
	if err != nil {
		return err
	}
	if s.upload, err = s.newTransferStream(); err != nil {
		return err
	}
	if err = s.prepare(p, s.upload); err != nil {
		return err
	}
	if len(p.peers) > 0 {
		if s.peer, err = s.newStream(p.context); err != nil {
			return err
		}
	}
	if s.download, err = s.newTransferStream(); err != nil {
		return err
	}
	for range p.streams {
		l, err := s.newTransferStream()
		if err != nil {
			return err
		}
		s.gather = append(s.gather, l)
	}
	s.main, err = p.general.NewQueue(stream, s.arena)
	return err
}

// newTransferStream cuts the scratch of a transfer stream off the workspace.
func (s *workspace) newTransferStream() (*transferStream, error) {
	n := stagingBytes(s.bytes)
	at, err := s.arena.Cut(n)
	if err != nil {
		return nil, err
	}
	return &transferStream{scratch: s.arena.Over(at, n), scratchBytes: n}, nil
}

func (s *workspace) newStream(c *driver.Context) (*driver.Stream, error) {
	st, err := c.NewStream()
	if err == nil {
		s.streams = append(s.streams, st)
	}
	return st, err
}

// event returns an event, if possible one that an earlier execution has released.
func (s *workspace) event(c *driver.Context) (*driver.Event, error) {
	n := len(s.events)
	if n == 0 {
		return c.NewEvent(false)
	}
	event := s.events[n-1]
	s.events = s.events[:n-1]
	return event, nil
}

// minStaging exceeds the needs of most divisions.
const minStaging = 64 << 10

// stagingBuffer returns the staging buffer, of at least the given bytes. It must be idle.
func (s *workspace) stagingBuffer(c *driver.Context, bytes int64) (*driver.Host, error) {
	if s.staging != nil && s.staging.Size() >= bytes {
		return s.staging, nil
	}
	if small := s.staging; small != nil {
		s.staging = nil
		if err := small.Free(); err != nil {
			return nil, err
		}
	}
	var err error
	s.staging, err = c.Pinned(max(bytes, minStaging))
	return s.staging, err
}

// prepare makes the parts of a transfer stream other than its scratch.
func (s *workspace) prepare(p *Provider, l *transferStream) (err error) {
	if l.stream == nil {
		if l.stream, err = s.newStream(p.context); err != nil {
			return err
		}
	}
	for i := range l.halfCopied {
		if l.halfCopied[i] == nil {
			if l.halfCopied[i], err = p.context.NewEvent(false); err != nil {
				return err
			}
		}
	}
	if l.staging == nil {
		if l.staging, err = p.context.Pinned(l.scratchBytes); err != nil {
			return err
		}
	}
	l.queue, err = p.general.NewQueue(l.stream, l.scratch)
	return err
}

// reset waits for all running work and frees all memory.
func (s *workspace) reset() error {
	var errs []error
	for _, st := range s.streams {
		errs = append(errs, st.Sync(context.Background()))
	}
	for _, l := range s.gather {
		l.empty()
	}
	s.heap.reset()
	s.arena.Rewind(0)
	s.arena.ResetPeak()
	return errors.Join(errs...)
}

// close frees everything but memory of the arena.
func (s *workspace) close() error {
	var errs []error
	if s.main != nil {
		errs = append(errs, s.main.Close())
	}
	for _, l := range append([]*transferStream{s.upload, s.download}, s.gather...) {
		if l == nil {
			continue
		}
		if l.queue != nil {
			errs = append(errs, l.queue.Close())
		}
		if l.staging != nil {
			errs = append(errs, l.staging.Free())
		}
		for _, e := range l.halfCopied {
			if e != nil {
				errs = append(errs, e.Close())
			}
		}
	}
	for _, e := range s.events {
		errs = append(errs, e.Close())
	}
	if s.staging != nil {
		errs = append(errs, s.staging.Free())
	}
	for _, st := range s.streams {
		errs = append(errs, st.Close())
	}
	return errors.Join(errs...)
}

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
