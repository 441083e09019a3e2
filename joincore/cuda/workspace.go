//go:build cuda

package cuda

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"gpujoin/joincore"
	"gpujoin/joincore/cuda/columnar/phj"
	"gpujoin/joincore/cuda/driver"
	"gpujoin/joincore/cuda/rowid"
	"gpujoin/joincore/device"
)

// workspace is the memory and the streams of one execution; later executions reuse it.
type workspace struct {
	gpu      *gpu
	bytes    int64
	arena    *driver.Arena     // the stack, without the scratch of transfer streams
	main     *rowid.Queue      // all steps, in order
	upload   *transferStream   // imports
	download *transferStream   // spaces spilled to the host; made on first use
	gather   []*transferStream // results
	peer     *driver.Stream    // copies from other devices; nil: it reaches none
	copied   atomic.Int64      // bytes that this execution copied from them
	side     sideStream
	managed  [2]*driver.Managed // through which inputs reach the device, by methods of managed memory; made on first use
	back     *driver.Stream     // on which its pages migrate back
	// otherwise is why the execution does not transfer inputs by the method that is demanded.
	otherwise atomic.Pointer[string]
	sender    *phj.Sender // of rows that devices exchange; made on first use
	streams   []*driver.Stream
	staging   *driver.Host // for descriptors and counts of divisions

	loading sync.Mutex // guards the upload stream; taken before mu, and after a view's

	mu       sync.Mutex // guards what follows
	heap     heap
	idle     []*driver.Event // that the execution does not use
	events   []*driver.Event // that it does
	steps    *driver.Event   // a point of the main stream; one of events
	resident []span          // of the heap: columns that stay after the execution
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

// newWorkspace divides the next bytes of the arena. The streams that gather are made on first
// use, in memory reserved here.
func newWorkspace(g *gpu, arena *driver.Arena, bytes int64, streams int) (*workspace, error) {
	s, mark := &workspace{gpu: g, bytes: bytes}, arena.Mark()
	if err := s.open(arena, streams); err != nil {
		arena.Rewind(mark)
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

func (s *workspace) open(arena *driver.Arena, streams int) (err error) {
	if s.arena, err = arena.Part(s.bytes); err != nil {
		return err
	}
	s.arena.WhenFull(s.relieve)
	s.heap = heap{
		cut: func(n int64) (int64, error) {
			at, err := s.arena.Cut(n)
			return int64(at), err
		},
		extend: s.arena.Extend,
	}
	stream, err := s.newStream()
	if err != nil {
		return err
	}
	if s.upload, err = s.newTransferStream(); err != nil {
		return err
	}
	if err = s.prepare(s.upload); err != nil {
		return err
	}
	if len(s.gpu.peers) > 0 {
		if s.peer, err = s.newStream(); err != nil {
			return err
		}
	}
	if s.download, err = s.newTransferStream(); err != nil {
		return err
	}
	for range streams {
		l, err := s.newTransferStream()
		if err != nil {
			return err
		}
		s.gather = append(s.gather, l)
	}
	s.main, err = s.gpu.general.NewQueue(stream, s.arena)
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

func (s *workspace) newStream() (*driver.Stream, error) {
	st, err := s.gpu.context.NewStream()
	if err == nil {
		s.streams = append(s.streams, st)
	}
	return st, err
}

// event returns an event for the execution, if possible one that an earlier execution has used.
func (s *workspace) event() (*driver.Event, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.takeEvent()
}

// takeEvent is event for callers that hold mu.
func (s *workspace) takeEvent() (event *driver.Event, err error) {
	if n := len(s.idle); n > 0 {
		event, s.idle = s.idle[n-1], s.idle[:n-1]
	} else if event, err = s.gpu.context.NewEvent(false); err != nil {
		return nil, err
	}
	s.events = append(s.events, event)
	return event, nil
}

// Alloc allocates memory of the heap. If the memory was used before in this execution, the
// stream of uploads waits until that use is over.
func (s *workspace) Alloc(bytes int64) (driver.Ptr, error) {
	for {
		p, err := s.alloc(bytes)
		if !errors.Is(err, joincore.ErrBudget) || !s.relieve() {
			return p, err
		}
	}
}

func (s *workspace) alloc(bytes int64) (driver.Ptr, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at, used, err := s.heap.alloc(driver.Lines(bytes))
	if err != nil {
		return 0, err
	}
	p := driver.Ptr(at)
	if !used && int64(p-s.arena.Base()) >= s.arena.Peak() {
		return p, nil
	}
	if s.steps == nil {
		if s.steps, err = s.takeEvent(); err != nil {
			return 0, err
		}
	}
	return p, errors.Join(s.main.Stream().Record(s.steps), s.upload.stream.Wait(s.steps))
}

// Free frees memory of the heap.
func (s *workspace) Free(p driver.Ptr, bytes int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.heap.release(int64(p), driver.Lines(bytes))
}

// at returns the location of the GPU.
func (s *workspace) at() device.Location { return device.Location(s.gpu.context.Info().Ordinal) }

// minStaging exceeds the needs of most divisions.
const minStaging = 64 << 10

// stagingBuffer returns the staging buffer, of at least the given bytes. It must be idle.
func (s *workspace) stagingBuffer(bytes int64) (*driver.Host, error) {
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
	s.staging, err = s.gpu.context.Pinned(max(bytes, minStaging))
	return s.staging, err
}

// prepare makes the parts of a transfer stream other than its scratch.
func (s *workspace) prepare(l *transferStream) (err error) {
	if l.stream == nil {
		if l.stream, err = s.newStream(); err != nil {
			return err
		}
	}
	for i := range l.halfCopied {
		if l.halfCopied[i] == nil {
			if l.halfCopied[i], err = s.gpu.context.NewEvent(false); err != nil {
				return err
			}
		}
	}
	if l.staging == nil {
		if l.staging, err = s.gpu.context.Pinned(l.scratchBytes); err != nil {
			return err
		}
	}
	l.queue, err = s.gpu.general.NewQueue(l.stream, l.scratch)
	return err
}

// reset waits for all running work and frees all memory but that of columns that stay.
func (s *workspace) reset() error {
	err := s.sync()
	s.empty()
	return err
}

// sync waits for all running work.
func (s *workspace) sync() error {
	var errs []error
	for _, st := range s.streams {
		errs = append(errs, st.Sync(context.Background()))
	}
	return errors.Join(errs...)
}

// empty frees all memory but that of columns that stay.
func (s *workspace) empty() {
	for _, l := range s.gather {
		l.empty()
	}
	s.copied.Store(0)
	s.otherwise.Store(nil)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.arena.Rewind(0)
	s.heap.reset(s.resident)
	s.idle, s.events, s.steps = append(s.idle, s.events...), nil, nil
	s.arena.ResetPeak()
}

// close frees everything but memory of the arena.
func (s *workspace) close() error {
	errs := []error{s.main.Close()}
	for _, l := range append([]*transferStream{s.upload, s.download}, s.gather...) {
		if l == nil {
			continue
		}
		errs = append(errs, l.queue.Close(), l.staging.Free())
		for _, e := range l.halfCopied {
			errs = append(errs, e.Close())
		}
	}
	for _, e := range append(s.idle, s.events...) {
		errs = append(errs, e.Close())
	}
	errs = append(errs, s.staging.Free(), s.managed[0].Free(), s.managed[1].Free())
	if s.sender != nil {
		errs = append(errs, s.sender.Close())
	}
	for _, st := range s.streams {
		errs = append(errs, st.Close())
	}
	return errors.Join(errs...)
}
