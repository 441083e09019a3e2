package sidecar

import (
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"gpujoin/shm"
	"gpujoin/sidecar/memory"

	"golang.org/x/sys/unix"
)

// outbox sends frames to one peer, in order. send never waits: it queues the
// bytes that the socket does not accept at once, and starts a writer goroutine
// that runs until the queue is empty. While the writer runs, only it writes. The
// queue holds a reference to each extent in it, so that no descriptor is sent
// after it was closed.
//
// A peer may leave frames unread for as long as it likes: a backend that waits
// for its client reads nothing. Three bounds protect other sessions. Above the
// queue's soft limit the session reads no more requests. Above its hard limit
// the connection is closed; only unsolicited frames, or many answers to one
// request, can exceed it. maxUnread bounds the descriptors in flight.
//
// An outbox is open at first. Once it has ended, it sends nothing more, and the
// writer drops the queue and returns.
type outbox struct {
	conn  frameWriter
	log   *slog.Logger
	trace *Tracer
	id    uint64 // of the session, for the trace

	mu      sync.Mutex
	changed sync.Cond // signalled when the queue shrinks, the outbox ends or the writer returns
	queue   []frameOut
	bytes   int  // size of the queue
	writing bool // the writer goroutine runs
	held    bool // frames wait in the queue for release
	ended   bool
	done    chan struct{} // closed once ended
	unread  int           // upper bound on descriptors sent and not received
	refused time.Time     // when the kernel first refused the head's descriptors; zero: it did not
}

type frameOut struct {
	bytes   []byte
	extents []*memory.Extent
}

// drop releases the frame's extents.
func (f *frameOut) drop() {
	for _, e := range f.extents {
		e.Release()
	}
}

// frameWriter is the writing half of a *shm.Conn.
type frameWriter interface {
	Write(b []byte, fds []int) error
	WriteNow(b []byte, fds []int) (int, error)
	AllRead() (bool, error)
	CloseRead()
	StopWrites()
}

// Limits of the queue. The soft limits are above the needs of a peer that
// pipelines its requests. The hard limits are above any window of results and
// above the largest frame.
const (
	softFrames, softBytes = 64, 1 << 20
	hardFrames, hardBytes = 2048, 16 << 20
)

// maxUnread is the maximum number of descriptors in flight to one peer. The
// kernel limits the descriptors in flight of a user to the number of files that
// a process may open (RLIMIT_NOFILE), and then refuses those of all connections.
// Closing the connection does not take back descriptors that the peer has not
// read, so each peer is kept to a small share.
const maxUnread = 2 * shm.FrameMaxFDs

// First and longest pause of the writer when it must poll: no event tells it
// that the peer has received descriptors.
const (
	firstPause = time.Millisecond
	lastPause  = 100 * time.Millisecond
)

// refusalPatience is how long the writer retries if the kernel refuses
// descriptors because too many of this user's are in flight.
const refusalPatience = 10 * time.Second

func newOutbox(conn frameWriter, log *slog.Logger, trace *Tracer, id uint64) *outbox {
	o := &outbox{conn: conn, log: log, trace: trace, id: id, done: make(chan struct{})}
	o.changed.L = &o.mu
	return o
}

// send sends one frame with the descriptors of at most FrameMaxFDs extents. An
// error ends the connection; the session then reads end of file.
func (o *outbox) send(frame []byte, extents ...*memory.Extent) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.ended {
		return
	}
	o.trace.record(o.id, true, frame, nil)
	o.pass(frame, extents)
}

// pass writes a frame, or queues what the socket does not accept of it. The caller holds o.mu.
func (o *outbox) pass(frame []byte, extents []*memory.Extent) {
	if !o.writing && !o.held {
		n, err := o.writeNow(frame, extents)
		if err != nil {
			o.end()
			return
		}
		if n == len(frame) {
			return
		}
		if n > 0 {
			frame, extents = frame[n:], nil
		}
	}
	if len(o.queue) >= hardFrames || o.bytes+len(frame) > hardBytes {
		o.log.Warn("the peer leaves too many answers unread", "frames", len(o.queue), "bytes", o.bytes)
		o.end()
		return
	}
	o.push(frame, extents)
	if !o.writing && !o.held {
		o.writing = true
		go o.write()
	}
}

// hold makes frames wait until release, which writes them together: the peer wakes once
// for all of them.
func (o *outbox) hold() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.held = true
}

// release ends hold. Each write has one frame with descriptors at most, at its beginning.
func (o *outbox) release() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.held = false
	if o.writing {
		return // a writer from before hold has them
	}
	waiting := o.queue
	o.queue, o.bytes = nil, 0
	for len(waiting) > 0 && !o.ended {
		f := waiting[0]
		waiting = waiting[1:]
		// Descriptors belong to the first byte of a write.
		for len(waiting) > 0 && len(waiting[0].extents) == 0 {
			f.bytes = append(f.bytes, waiting[0].bytes...)
			waiting = waiting[1:]
		}
		o.pass(f.bytes, f.extents)
		f.drop()
	}
	for _, f := range waiting {
		f.drop()
	}
	o.changed.Broadcast()
}

// writeNow writes as many bytes as the socket accepts without waiting and
// returns their number. The caller holds o.mu, and the writer does not run.
func (o *outbox) writeNow(frame []byte, extents []*memory.Extent) (n int, err error) {
	if ok, err := o.admits(len(extents)); !ok || err != nil {
		return 0, err
	}
	n, err = o.conn.WriteNow(frame, descriptors(extents))
	if tooManyInFlight(err) {
		return 0, nil
	}
	if n > 0 {
		o.unread += len(extents)
	}
	return n, err
}

// admits reports whether n more descriptors may be sent. The caller holds o.mu.
func (o *outbox) admits(n int) (bool, error) {
	if n == 0 {
		return true, nil
	}
	if o.unread > 0 {
		all, err := o.conn.AllRead()
		if err != nil {
			return false, err
		}
		if all {
			o.unread = 0
		}
	}
	return o.unread+n <= maxUnread, nil
}

// tooManyInFlight reports whether the kernel refused to send descriptors because
// too many of this user's are in flight. In that case nothing was sent.
func tooManyInFlight(err error) bool { return errors.Is(err, unix.ETOOMANYREFS) }

func descriptors(extents []*memory.Extent) []int {
	if len(extents) == 0 {
		return nil
	}
	fds := make([]int, len(extents))
	for i, e := range extents {
		fds[i] = e.FD
	}
	return fds
}

// write is the writer goroutine. It writes the queue and returns when the queue
// is empty or the outbox has ended.
func (o *outbox) write() {
	o.mu.Lock()
	defer o.mu.Unlock()
	pause := firstPause
	for len(o.queue) > 0 && !o.ended {
		wrote, err := o.writeHead()
		switch {
		case err != nil:
			o.end()
		case wrote:
			o.pop()
			pause = firstPause
		case !o.refused.IsZero() && time.Since(o.refused) > refusalPatience:
			o.giveUp()
		default:
			o.sleep(pause)
			pause = min(2*pause, lastPause)
		}
	}
	for len(o.queue) > 0 {
		o.pop()
	}
	o.queue, o.writing = nil, false
	o.changed.Broadcast()
}

// writeHead writes the head of the queue and waits for the socket to accept it.
// It returns false without writing if the descriptors cannot be sent yet. The
// caller holds o.mu, which is released during the write.
func (o *outbox) writeHead() (wrote bool, err error) {
	f := o.queue[0]
	if ok, err := o.admits(len(f.extents)); !ok || err != nil {
		return false, err
	}
	o.mu.Unlock()
	err = o.conn.Write(f.bytes, descriptors(f.extents))
	o.mu.Lock()
	if tooManyInFlight(err) {
		if o.refused.IsZero() {
			o.refused = time.Now()
			o.log.Warn("the kernel refuses to send descriptors: too many are unread")
		}
		return false, nil
	}
	o.refused = time.Time{}
	o.unread += len(f.extents)
	return err == nil, err
}

// giveUp drops the queue, sends FAILED and ends the outbox. The caller holds
// o.mu.
func (o *outbox) giveUp() {
	for len(o.queue) > 0 {
		o.pop()
	}
	frame := shm.AppendFailed(nil, shm.FailResources, "", "too many file descriptors are unread by other processes")
	o.mu.Unlock()
	_ = o.conn.Write(frame, nil) // the connection ends either way
	o.mu.Lock()
	o.end()
}

// sleep pauses the writer for d or until the outbox ends. The caller holds o.mu,
// which is released meanwhile.
func (o *outbox) sleep(d time.Duration) {
	o.mu.Unlock()
	defer o.mu.Lock()
	select {
	case <-time.After(d):
	case <-o.done:
	}
}

// push queues a frame and retains its extents. The caller holds o.mu.
func (o *outbox) push(frame []byte, extents []*memory.Extent) {
	for _, e := range extents {
		e.Retain()
	}
	o.queue = append(o.queue, frameOut{append([]byte(nil), frame...), append([]*memory.Extent(nil), extents...)})
	o.bytes += len(frame)
}

// pop removes the head of the queue and releases its extents. The caller holds
// o.mu.
func (o *outbox) pop() {
	o.queue[0].drop()
	o.bytes -= len(o.queue[0].bytes)
	o.queue[0] = frameOut{}
	o.queue = o.queue[1:]
	o.changed.Broadcast()
}

// end ends the outbox and wakes the session's read loop. The caller holds o.mu.
func (o *outbox) end() {
	if o.ended {
		return
	}
	o.ended = true
	close(o.done)
	o.changed.Broadcast()
	o.conn.CloseRead()
	o.conn.StopWrites()
}

// throttle waits while the queue is above its soft limit.
func (o *outbox) throttle() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for (len(o.queue) > softFrames || o.bytes > softBytes) && !o.ended {
		o.changed.Wait()
	}
}

// sent waits until the queue no longer holds e. A peer may read and answer a
// frame before the writer has popped it. A peer that answers a frame before
// reading it blocks only itself.
func (o *outbox) sent(e *memory.Extent) {
	holds := func(f frameOut) bool { return slices.Contains(f.extents, e) }
	o.mu.Lock()
	defer o.mu.Unlock()
	for slices.ContainsFunc(o.queue, holds) && !o.ended {
		o.changed.Wait()
	}
}

// flush waits until the queue is empty. If that takes longer than timeout, it
// ends the outbox.
func (o *outbox) flush(timeout time.Duration) {
	timer := time.AfterFunc(timeout, o.stop)
	defer timer.Stop()
	o.mu.Lock()
	defer o.mu.Unlock()
	for len(o.queue) > 0 && !o.ended {
		o.changed.Wait()
	}
}

// stop ends the outbox and drops unsent frames.
func (o *outbox) stop() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.end()
}

// close ends the outbox and waits until it holds no extent.
func (o *outbox) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.end()
	for o.writing || o.held {
		o.changed.Wait()
	}
}
