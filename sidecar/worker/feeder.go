package worker

import (
	"sync"

	"gpujoin/shm"
	"gpujoin/sidecar/memory"
	"gpujoin/sidecar/worker/control"
)

// feeder passes the extents of a store to one child: all existing ones, then
// every new one. It also tells the child which extents are dropped. A goroutine
// sends these events, so that allocating an extent never waits for the child.
type feeder struct {
	store  *memory.Store
	sender *control.Sender
	size   int64
	broken func(error)

	mu     sync.Mutex
	wake   sync.Cond
	queue  []event
	closed bool
	done   chan struct{}
	given  map[uint64]bool // used only by the goroutine
}

type event struct {
	extent uint64
	kind   control.Kind
}

// startFeeder starts sending. It calls broken once if sending fails.
func startFeeder(store *memory.Store, sender *control.Sender, broken func(error)) (stop func()) {
	f := &feeder{
		store: store, sender: sender, size: store.ExtentSize(), broken: broken,
		done: make(chan struct{}), given: map[uint64]bool{},
	}
	f.wake.L = &f.mu
	unwatch := store.Watch(f.enqueue)
	go f.work()
	return func() {
		unwatch()
		f.mu.Lock()
		f.closed = true
		f.wake.Broadcast()
		f.mu.Unlock()
		<-f.done
	}
}

func (f *feeder) enqueue(extent uint64, dropped bool) {
	kind := control.Give
	if dropped {
		kind = control.Drop
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.queue = append(f.queue, event{extent, kind})
	f.wake.Signal()
}

// work sends events until it is stopped, as many queued extents per message as
// fit.
func (f *feeder) work() {
	defer close(f.done)
	for {
		f.mu.Lock()
		for len(f.queue) == 0 && !f.closed {
			f.wake.Wait()
		}
		if f.closed {
			f.mu.Unlock()
			return
		}
		n := 1
		for n < min(len(f.queue), control.MaxExtents) && f.queue[n].kind == f.queue[0].kind {
			n++
		}
		part := f.queue[:n:n]
		f.queue = f.queue[n:]
		f.mu.Unlock()
		if err := f.send(part); err != nil {
			f.broken(err)
			return
		}
	}
}

// send sends events of one kind.
func (f *feeder) send(part []event) error {
	m := &control.Message{Kind: part[0].kind, Size: f.size}
	defer func() { shm.CloseFDs(m.FDs) }()
	for _, e := range part {
		if e.kind == control.Drop {
			if f.given[e.extent] { // the extent was not created and dropped while queued
				delete(f.given, e.extent)
				m.Extents = append(m.Extents, e.extent)
			}
			continue
		}
		fd, ok, err := f.store.Descriptor(e.extent)
		if err != nil {
			return err
		}
		if ok {
			f.given[e.extent] = true
			m.Extents, m.FDs = append(m.Extents, e.extent), append(m.FDs, fd)
		}
	}
	if len(m.Extents) == 0 {
		return nil
	}
	return f.sender.Send(m)
}
