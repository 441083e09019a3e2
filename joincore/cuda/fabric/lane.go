//go:build cuda

package fabric

import (
	"errors"
	"slices"
	"sync"
	"time"

	"gpujoin/joincore/cuda/driver"
	"gpujoin/joincore/exchange/live"
)

// lane carries out copies from a device to another one, or within it, in order. Each hop
// has one of the lanes between its devices.
type lane struct {
	stream *driver.Stream // on the device that sends
	stage  *stage         // nil: direct
	last   *driver.Stream // on which copies end

	mu      sync.Mutex // guards what follows, and the order of the stream's work
	waiting []waiting  // copies under way, in order
	idle    []*driver.Event
	spans   []driver.Span
}

// waiting is a copy under way.
type waiting struct {
	event *driver.Event // behind it
	over                // what follows
}

func newLane(from, to *driver.Context, staged bool) (*lane, error) {
	l := &lane{}
	var err error
	if l.stream, err = from.NewStream(); err != nil {
		return nil, err
	}
	l.last = l.stream
	reaches, err := from.Reaches(to)
	if err == nil && from != to && (staged || !reaches) {
		if l.stage, err = newStage(from, to); err == nil {
			l.last = l.stage.stream
		}
	}
	if err != nil {
		return nil, errors.Join(err, l.close())
	}
	return l, nil
}

// copy queues copies as one whose end is followed by o.
func (l *lane) copy(pieces []live.Piece, o over) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e, err := l.event()
	if err != nil {
		// Nothing is queued. The copy before it, if any, ends first.
		o.err = err
		l.waiting = append(l.waiting, waiting{over: o})
		return
	}
	l.spans = l.spans[:0]
	for _, p := range pieces {
		l.spans = append(l.spans, driver.Span{To: address(p.To), From: address(p.From), Bytes: uint64(p.Bytes)})
	}
	if l.stage == nil {
		o.err = l.stream.Copies(l.spans, e)
	} else {
		// Also if one fails: what is queued must end before the memory is used again.
		o.err = l.stage.copies(l.stream, l.spans)
		o.err = errors.Join(o.err, l.last.Record(e))
	}
	l.waiting = append(l.waiting, waiting{e, o})
}

func address(p live.Place) driver.Ptr { return p.Buffer.(*Memory).at + driver.Ptr(p.Offset) }

// end removes the first copy if it has ended, and returns what follows it. more reports
// whether copies are left.
func (l *lane) end(now time.Time) (o over, ended, more bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.waiting) == 0 {
		return over{}, false, false
	}
	w := l.waiting[0]
	if w.event != nil {
		// A slow link cannot have ended it: asking takes the driver's lock.
		if !w.until.IsZero() && now.Before(w.until) {
			return over{}, false, true
		}
		done, err := w.event.Done()
		if !done && err == nil {
			return over{}, false, true
		}
		if w.err == nil {
			w.err = err
		}
		l.idle = append(l.idle, w.event)
	}
	l.waiting = slices.Delete(l.waiting, 0, 1)
	return w.over, true, len(l.waiting) > 0
}

// event returns an event for a copy.
func (l *lane) event() (*driver.Event, error) {
	if n := len(l.idle); n > 0 {
		e := l.idle[n-1]
		l.idle = l.idle[:n-1]
		return e, nil
	}
	return l.last.Context().NewEvent(false)
}

// abandon removes all copies.
func (l *lane) abandon() []waiting {
	l.mu.Lock()
	defer l.mu.Unlock()
	w := l.waiting
	l.waiting = nil
	return w
}

// close frees everything. No copy is under way, or the device does not answer.
func (l *lane) close() error {
	err := l.stream.Close()
	if l.stage != nil {
		err = errors.Join(err, l.stage.close())
	}
	for _, w := range l.waiting {
		if w.event != nil {
			l.idle = append(l.idle, w.event)
		}
	}
	for _, e := range l.idle {
		err = errors.Join(err, e.Close())
	}
	return err
}
