//go:build cuda

package fabric

import (
	"errors"
	"sync"
	"time"

	"gpujoin/joincore/cuda/driver"
	"gpujoin/joincore/exchange/live"
)

// channel carries out copies from a device to another one, or within it, in order. Each hop
// has one of the channels between its devices.
type channel struct {
	stream  *driver.Stream // on the device that sends
	threads *threads       // of that device; nil: engines execute all copies
	stage   *stage         // nil: direct
	last    *driver.Stream // on which copies end

	mu     sync.Mutex // guards what follows, and the order of the stream's work
	line   line
	events []*driver.Event // idle
	marks  []*mark         // idle
	spans  []driver.Span   // of the copy that is being queued
}

// newChannel returns a channel. t is nil if engines execute all copies.
func newChannel(from, to *driver.Context, t *threads, o Options) (*channel, error) {
	l := &channel{threads: t}
	var err error
	if l.stream, err = from.NewStream(); err != nil {
		return nil, err
	}
	l.last = l.stream
	reaches, err := from.Reaches(to)
	if err == nil && from != to && (o.Staged || !reaches) {
		if l.stage, err = newStage(from, to, o.Host); err == nil {
			l.last = l.stage.stream
		}
	}
	if err != nil {
		return nil, errors.Join(err, l.close())
	}
	return l, nil
}

// copy queues copies as one whose end is followed by o.
func (l *channel) copy(pieces []live.Piece, o over) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.spans = l.spans[:0]
	for _, p := range pieces {
		l.spans = append(l.spans, driver.Span{To: address(p.To), From: address(p.From), Bytes: uint64(p.Bytes)})
	}
	p := posted{over: o}
	if m := l.mark(); m != nil {
		if p.err = l.threads.copy(l.stream, l.spans, m); p.err == nil {
			p.end = m
		} else {
			l.marks = append(l.marks, m)
		}
	} else if e, err := l.event(); err != nil {
		p.err = err
	} else {
		p.end, p.err = event{e}, l.engines(e)
	}
	l.line.add(p)
}

func address(p live.Place) driver.Ptr { return p.Buffer.(*Memory).at + driver.Ptr(p.Offset) }

// mark returns an idle mark if threads are to copy the spans.
func (l *channel) mark() *mark {
	if l.threads == nil || l.stage != nil || !l.threads.suit(l.spans) {
		return nil
	}
	if n := len(l.marks); n > 0 {
		m := l.marks[n-1]
		l.marks = l.marks[:n-1]
		return m
	}
	return l.threads.mark()
}

// engines queues the spans as copies of engines, and records an event behind them, also if
// one of them fails: what is queued must end before the memory is used again.
func (l *channel) engines(e *driver.Event) error {
	if l.stage == nil {
		return l.stream.Copies(l.spans, e)
	}
	err := l.stage.copies(l.stream, l.spans)
	return errors.Join(err, l.last.Record(e))
}

// event is the ending of a copy by engines.
type event struct{ *driver.Event }

func (e event) ended() (bool, error) { return e.Done() }

// event returns an idle event.
func (l *channel) event() (*driver.Event, error) {
	if n := len(l.events); n > 0 {
		e := l.events[n-1]
		l.events = l.events[:n-1]
		return e, nil
	}
	return l.last.Context().NewEvent(false)
}

// end removes the copies that have ended, and appends what follows them to list. more
// reports whether copies are left.
func (l *channel) end(now time.Time, list []over) (_ []over, more bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.line.take(now, func(p posted) {
		list = append(list, p.over)
		l.keep(p.end)
	})
	return list, len(l.line.copies) > 0
}

// keep keeps an ending for later copies.
func (l *channel) keep(e ending) {
	switch e := e.(type) {
	case event:
		l.events = append(l.events, e.Event)
	case *mark:
		l.marks = append(l.marks, e)
	}
}

// failed returns the error of copies under way, if there is one: marks do not tell.
func (l *channel) failed() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.stream.Failed()
}

// abandon removes all copies.
func (l *channel) abandon() []posted {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := l.line.copies
	l.line.copies = nil
	return all
}

// close frees everything. No copy is under way, or the device does not answer.
func (l *channel) close() error {
	err := l.stream.Close()
	if l.stage != nil {
		err = errors.Join(err, l.stage.close())
	}
	for _, p := range l.line.copies {
		l.keep(p.end)
	}
	for _, e := range l.events {
		err = errors.Join(err, e.Close())
	}
	return err
}

// stageBytes is one half of a staging buffer.
const stageBytes = 4 << 20

// stage copies between GPUs that do not reach each other's memory: from one GPU to a half
// of a buffer in host memory, and from there to the other GPU.
type stage struct {
	stream *driver.Stream // on the GPU that receives
	memory []byte
	free   func() error // takes the memory back
	half   [2]half
	next   int
}

// half is a half of the buffer: full when the copy into it has ended, empty when the copy
// out of it has.
type half struct{ full, empty *driver.Event }

// pinned is the memory of a fabric that has no other.
func pinned(c *driver.Context) HostMemory {
	return func(bytes int64) ([]byte, func() error, error) {
		h, err := c.Pinned(bytes)
		if err != nil {
			return nil, nil, err
		}
		return h.Bytes(), h.Free, nil
	}
}

func newStage(from, to *driver.Context, host HostMemory) (_ *stage, err error) {
	if host == nil {
		host = pinned(from)
	}
	s := &stage{}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.close())
		}
	}()
	if s.stream, err = to.NewStream(); err != nil {
		return nil, err
	}
	if s.memory, s.free, err = host(2 * stageBytes); err != nil {
		return nil, err
	}
	for i := range s.half {
		h := &s.half[i]
		if h.full, err = from.NewEvent(false); err != nil {
			return nil, err
		}
		if h.empty, err = to.NewEvent(false); err != nil {
			return nil, err
		}
		if err = s.stream.Record(h.empty); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// copies queues copies up to the first that cannot be queued.
func (s *stage) copies(sender *driver.Stream, list []driver.Span) error {
	for _, c := range list {
		if err := s.copy(sender, c.To, c.From, int64(c.Bytes)); err != nil {
			return err
		}
	}
	return nil
}

// copy queues a copy that begins on the sender's stream and ends on s.stream.
func (s *stage) copy(sender *driver.Stream, target, source driver.Ptr, bytes int64) error {
	for done := int64(0); done < bytes; {
		n := min(bytes-done, stageBytes)
		h := &s.half[s.next]
		memory := s.memory[s.next*stageBytes:][:n]
		for _, step := range []func() error{
			func() error { return sender.Wait(h.empty) },
			func() error { return sender.CopyOut(memory, source+driver.Ptr(done)) },
			func() error { return sender.Record(h.full) },
			func() error { return s.stream.Wait(h.full) },
			func() error { return s.stream.CopyIn(target+driver.Ptr(done), memory) },
			func() error { return s.stream.Record(h.empty) },
		} {
			if err := step(); err != nil {
				return err
			}
		}
		s.next = 1 - s.next
		done += n
	}
	return nil
}

func (s *stage) close() error {
	err := s.stream.Close()
	for _, h := range s.half {
		err = errors.Join(err, h.full.Close(), h.empty.Close())
	}
	if s.free != nil {
		err = errors.Join(err, s.free())
	}
	return err
}
