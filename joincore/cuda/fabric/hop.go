//go:build cuda

package fabric

import (
	"errors"
	"sync"

	"gpujoin/joincore/cuda/driver"
	"gpujoin/joincore/exchange/live"
	"gpujoin/joincore/mesh"
)

// hop carries out the copies from a GPU to another one, in order.
type hop struct {
	mu     sync.Mutex
	from   *driver.Context
	to     *driver.Context
	stream *driver.Stream // on the GPU that sends
	stage  *stage         // nil: direct
	events eventList
}

func (f *Fabric) newHop(h *mesh.Hop, staged bool) (*hop, error) {
	from, to := f.gpus[h.From].context, f.gpus[h.To].context
	out := &hop{from: from, to: to}
	var err error
	if out.stream, err = from.NewStream(); err != nil {
		return nil, err
	}
	reaches, err := from.Reaches(to)
	if err == nil && from != to && (staged || !reaches) {
		out.stage, err = newStage(from, to)
	}
	if err != nil {
		return nil, errors.Join(err, out.close())
	}
	out.events.context = from
	if out.stage != nil {
		out.events.context = to
	}
	return out, nil
}

// copy queues copies and returns the event behind them, which the caller gives back.
func (h *hop) copy(pieces []live.Piece) (*event, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	e, err := h.events.take()
	if err != nil {
		return nil, err
	}
	last := h.stream
	for _, p := range pieces {
		from, to := p.From.Buffer.(*Memory), p.To.Buffer.(*Memory)
		source, target := from.at+driver.Ptr(p.From.Offset), to.at+driver.Ptr(p.To.Offset)
		if h.stage != nil {
			last = h.stage.stream
			err = h.stage.copy(h.stream, target, source, p.Bytes)
		} else {
			err = h.stream.Copy(target, source, p.Bytes)
		}
		if err != nil {
			// What is queued must end before the memory is used again.
			return e, errors.Join(err, last.Record(e.event))
		}
	}
	return e, last.Record(e.event)
}

func (h *hop) close() error {
	err := h.stream.Close()
	if h.stage != nil {
		err = errors.Join(err, h.stage.close())
	}
	return errors.Join(err, h.events.close())
}

// eventList keeps events for later copies.
type eventList struct {
	context *driver.Context
	mu      sync.Mutex
	idle    []*event
	all     []*event
}

type event struct {
	list  *eventList
	event *driver.Event
}

func (l *eventList) take() (*event, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if n := len(l.idle); n > 0 {
		e := l.idle[n-1]
		l.idle = l.idle[:n-1]
		return e, nil
	}
	d, err := l.context.NewEvent(false)
	if err != nil {
		return nil, err
	}
	e := &event{list: l, event: d}
	l.all = append(l.all, e)
	return e, nil
}

func (e *event) give() {
	e.list.mu.Lock()
	defer e.list.mu.Unlock()
	e.list.idle = append(e.list.idle, e)
}

func (l *eventList) close() error {
	var errs []error
	for _, e := range l.all {
		errs = append(errs, e.event.Close())
	}
	return errors.Join(errs...)
}
