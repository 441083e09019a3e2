package worker

import (
	"gpujoin/shm"
	"gpujoin/sidecar/memory"
	"gpujoin/sidecar/worker/control"
)

// feeder passes the extents of a store to one child: all existing ones, then
// every new one. It also tells the child which extents are dropped. A mailbox
// sends these events, so that allocating an extent never waits for the child.
type feeder struct {
	store  *memory.Store
	sender *control.Sender
	given  map[uint64]bool // used only by send
}

type event struct {
	extent uint64
	kind   control.Kind
}

// startFeeder starts sending. It calls broken once if sending fails.
func startFeeder(store *memory.Store, sender *control.Sender, broken func(error)) (stop func()) {
	f := &feeder{store: store, sender: sender, given: map[uint64]bool{}}
	box := control.NewMailbox(func(list *[]event) error {
		err := f.send(*list)
		if err != nil {
			broken(err)
		}
		return err
	})
	unwatch := store.Watch(func(extent uint64, dropped bool) {
		kind := control.Give
		if dropped {
			kind = control.Drop
		}
		box.Put(func(list *[]event) { *list = append(*list, event{extent, kind}) })
	})
	return func() {
		unwatch()
		_ = box.Flush() // broken has the error
	}
}

// send sends events, as many of one kind in a row per message as fit.
func (f *feeder) send(list []event) error {
	for len(list) > 0 {
		n := 1
		for n < min(len(list), control.MaxExtents) && list[n].kind == list[0].kind {
			n++
		}
		if err := f.sendPart(list[:n]); err != nil {
			return err
		}
		list = list[n:]
	}
	return nil
}

// sendPart sends events of one kind.
func (f *feeder) sendPart(part []event) error {
	m := &control.Message{Kind: part[0].kind, Size: f.store.ExtentSize()}
	defer func() { shm.CloseFDs(m.FDs) }()
	for _, e := range part {
		if e.kind == control.Drop {
			if f.given[e.extent] { // the extent was not created and dropped while it waited here
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
