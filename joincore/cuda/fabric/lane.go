//go:build cuda

package fabric

import (
	"errors"
	"slices"

	"gpujoin/joincore/cuda/driver"
	"gpujoin/joincore/exchange/live"
)

// lane carries out copies from a device to another one, or within it, in order. Each hop
// has one of the lanes between its devices. The device's lock guards it.
type lane struct {
	stream  *driver.Stream // on the device that sends
	stage   *stage         // nil: direct
	last    *driver.Stream // on which copies end
	waiting []waiting      // copies under way, in order
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

// event returns an event for a copy.
func (l *lane) event() (*driver.Event, error) {
	if n := len(l.idle); n > 0 {
		e := l.idle[n-1]
		l.idle = l.idle[:n-1]
		return e, nil
	}
	return l.last.Context().NewEvent(false)
}

// ended removes the first copy if it has ended, and returns what follows it.
func (l *lane) ended() (over, bool) {
	if len(l.waiting) == 0 {
		return over{}, false
	}
	w := l.waiting[0]
	if w.event != nil {
		done, err := w.event.Done()
		if !done && err == nil {
			return over{}, false
		}
		if w.err == nil {
			w.err = err
		}
		l.idle = append(l.idle, w.event)
	}
	l.waiting = slices.Delete(l.waiting, 0, 1)
	return w.over, true
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
