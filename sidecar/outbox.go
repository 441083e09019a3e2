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

// outbox sends frames to one peer, in order. send never waits: what the socket
// does not take at once is queued, and a writer goroutine runs until the queue
// is empty. While it runs, nothing else writes. Extents whose descriptors wait
// in the queue are held, so that a descriptor is never sent after it was
// closed.
//
// A peer may leave frames unread for as long as it likes: a backend that waits
// for its client reads nothing. Three bounds keep that from hindering others:
// the queue's soft limit, beyond which the session reads no more requests; its
// hard limit, which only frames that answer one request, or nothing, can
// exceed, and which ends the connection; and maxUnread.
//
// An outbox is open, then ended: nothing is sent any more, and the writer drops
// the queue and returns.
type outbox struct {
	conn  frameWriter
	log   *slog.Logger
	trace *Tracer
	id    uint64 // of the session, for the trace

	mu      sync.Mutex
	changed sync.Cond // the queue is shorter, the outbox ended, or the writer returned
	queue   []frameOut
	bytes   int  // in the queue
	writing bool // the writer runs
	ended   bool
	done    chan struct{} // closed once ended
	unread  int           // descriptors that the peer may not have received
	refused time.Time     // since when the kernel refuses the head's descriptors; 0: it does not
}

type frameOut struct {
	bytes   []byte
	extents []*memory.Extent
}

// frameWriter is the writing half of a *shm.Conn.
type frameWriter interface {
	Write(b []byte, fds []int) error
	WriteNow(b []byte, fds []int) (int, error)
	AllRead() (bool, error)
	CloseRead()
	StopWrites()
}

// Limits of the queue. The soft ones leave a peer that pipelines its requests
// alone. The hard ones are beyond any window of results, and beyond the largest
// frame.
const (
	softFrames, softBytes = 64, 1 << 20
	hardFrames, hardBytes = 2048, 16 << 20
)

// maxUnread is how many descriptors a peer may have on their way to it. The
// kernel lets a user have as many on their way as a process may have open
// files, and then refuses those of all connections. Nothing takes back what a
// peer does not read, not even closing the connection, so that each has to be
// kept from taking more than a small share.
const maxUnread = 2 * shm.FrameMaxFDs

// The writer's pauses, where nothing wakes it when it may go on.
const (
	firstPause = time.Millisecond
	lastPause  = 100 * time.Millisecond
)

// refusalPatience is how long descriptors are offered to a kernel that refuses
// them, because other processes of the user have too many on their way.
const refusalPatience = 10 * time.Second

func newOutbox(conn frameWriter, log *slog.Logger, trace *Tracer, id uint64) *outbox {
	o := &outbox{conn: conn, log: log, trace: trace, id: id, done: make(chan struct{})}
	o.changed.L = &o.mu
	return o
}

// send sends one frame with the descriptors of at most FrameMaxFDs extents.
// Errors end the connection, so that the session sees its end of file.
func (o *outbox) send(frame []byte, extents ...*memory.Extent) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.ended {
		return
	}
	o.trace.record(o.id, true, frame)
	if !o.writing {
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
		o.log.Warn("the peer asks for more than it reads", "frames", len(o.queue), "bytes", o.bytes)
		o.end()
		return
	}
	o.push(frame, extents)
	if !o.writing {
		o.writing = true
		go o.write()
	}
}

// writeNow writes what the socket takes, nothing if it has to wait. The caller
// has locked o, and the writer does not run.
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

// admits says whether n more descriptors may be on their way. The caller has
// locked o.
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

// tooManyInFlight says that peers have not yet received so many descriptors
// that the kernel lets this user send no more. Nothing was sent.
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

// write is the writer.
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

// writeHead writes the head of the queue, as soon as the socket takes it; not
// where its descriptors have to wait. The caller has locked o, which is
// unlocked meanwhile.
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
			o.log.Warn("the kernel passes no more descriptors: too many are on their way to processes that do not read them")
		}
		return false, nil
	}
	o.refused = time.Time{}
	o.unread += len(f.extents)
	return err == nil, err
}

// giveUp tells the peer that it does not get its extents, and nothing more. The
// caller has locked o.
func (o *outbox) giveUp() {
	for len(o.queue) > 0 {
		o.pop()
	}
	frame := shm.AppendFailed(nil, shm.FailBusy, "too many file descriptors are on their way to processes that do not read them")
	o.mu.Unlock()
	_ = o.conn.Write(frame, nil) // the connection ends either way
	o.mu.Lock()
	o.end()
}

// sleep pauses the writer; the outbox's end wakes it. The caller has locked o,
// which is unlocked meanwhile.
func (o *outbox) sleep(d time.Duration) {
	o.mu.Unlock()
	defer o.mu.Lock()
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-o.done:
	}
}

// push queues a frame. The caller has locked o.
func (o *outbox) push(frame []byte, extents []*memory.Extent) {
	for _, e := range extents {
		e.Retain()
	}
	o.queue = append(o.queue, frameOut{append([]byte(nil), frame...), append([]*memory.Extent(nil), extents...)})
	o.bytes += len(frame)
}

// pop drops the head of the queue. The caller has locked o.
func (o *outbox) pop() {
	for _, e := range o.queue[0].extents {
		e.Release()
	}
	o.bytes -= len(o.queue[0].bytes)
	o.queue[0] = frameOut{}
	o.queue = o.queue[1:]
	o.changed.Broadcast()
}

// end ends the outbox, and wakes the session's reader. The caller has locked o.
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

// throttle waits while too much waits for the peer to read.
func (o *outbox) throttle() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for (len(o.queue) > softFrames || o.bytes > softBytes) && !o.ended {
		o.changed.Wait()
	}
}

// sent waits until the queue does not hold e any more. The peer may have
// read a frame, and answered it, before the writer has dropped it. One that
// answers what it has not read waits for itself.
func (o *outbox) sent(e *memory.Extent) {
	holds := func(f frameOut) bool { return slices.Contains(f.extents, e) }
	o.mu.Lock()
	defer o.mu.Unlock()
	for slices.ContainsFunc(o.queue, holds) && !o.ended {
		o.changed.Wait()
	}
}

// flush gives the peer a moment to read what is queued.
func (o *outbox) flush(patience time.Duration) {
	timer := time.AfterFunc(patience, o.stop)
	defer timer.Stop()
	o.mu.Lock()
	defer o.mu.Unlock()
	for len(o.queue) > 0 && !o.ended {
		o.changed.Wait()
	}
}

// stop ends the outbox, whatever the peer does: what it has not been sent is
// dropped.
func (o *outbox) stop() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.end()
}

// close ends the outbox, and returns when it holds no extent any more.
func (o *outbox) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.end()
	for o.writing {
		o.changed.Wait()
	}
}
