package source

import (
	"context"
	"slices"
	"sync/atomic"
	"time"
)

// mainApplier applies the main stream to the session's target. Its fields belong to the
// goroutine that applies; others change them by tasks, which run between transactions.
type mainApplier struct {
	session *Session
	joined  map[uint32]joinedTable // whose changes are applied
	changes int                    // of the open transaction
	tasks   chan func(at LSN)
	feed    *feed
	open    bool // a transaction was cut off
}

func newMainApplier(s *Session) *mainApplier {
	return &mainApplier{session: s, joined: map[uint32]joinedTable{}, tasks: make(chan func(LSN), 1)}
}

// reset ends all mirrors, because the stream begins anew.
func (a *mainApplier) reset(reason error) {
	if a.open || len(a.joined) > 0 {
		a.session.target.Reset(reason)
	}
	a.session.published.forget()
	a.open, a.changes, a.joined = false, 0, map[uint32]joinedTable{}
	s := a.session
	s.update(func() {
		for _, e := range s.entries {
			if e.state == StateReady {
				e.become(StateLoading)
				e.reason, e.due = reason, time.Now()
			}
		}
	})
}

// resume forgets a transaction that was cut off: the source sends it again.
func (a *mainApplier) resume() {
	if a.open {
		a.session.target.Abort()
	}
	a.open, a.changes = false, 0
}

// apply applies a feed's messages until it or ctx ends.
func (a *mainApplier) apply(ctx context.Context, feed *feed, at LSN) error {
	a.feed = feed
	a.received(at)
	f := newFollower(feed.queue, a, at)
	defer func() { a.open = f.open }()
	for ctx.Err() == nil {
		if !f.open && len(a.tasks) > 0 {
			(<-a.tasks)(f.position)
			continue
		}
		moved, err := f.step(0)
		if err != nil {
			return err
		}
		if moved {
			continue
		}
		tasks := a.tasks
		if f.open {
			tasks = nil
		}
		select {
		case <-ctx.Done():
		case <-feed.queue.ready:
		case task := <-tasks:
			task(f.position)
		}
	}
	return nil
}

// between runs a task in the applying goroutine, between transactions, with the position
// there, and returns when it has run. An error: the stream ended before, and the task will
// not run.
func (a *mainApplier) between(ctx context.Context, task func(at LSN)) error {
	var taken atomic.Bool // by the task, or by giving up
	ran := make(chan struct{})
	wrapped := func(at LSN) {
		if taken.CompareAndSwap(false, true) {
			defer close(ran)
			task(at)
		}
	}
	select {
	case a.tasks <- wrapped:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	select {
	case <-ran:
		return nil
	case <-ctx.Done():
		if taken.CompareAndSwap(false, true) {
			return context.Cause(ctx)
		}
		<-ran
		return nil
	}
}

// drain drops a task that nobody waits for any more.
func (a *mainApplier) drain() {
	select {
	case <-a.tasks:
	default:
	}
}

func (a *mainApplier) lookup(oid uint32) *Table { return a.joined[oid].table }

func (a *mainApplier) change(c *Change) error {
	a.changes++
	if err := a.session.target.Change(c); err != nil {
		a.fail(c.Table, err)
	}
	return nil
}

func (a *mainApplier) commit(xid uint32, end LSN, at time.Time) error {
	if a.changes == 0 {
		a.received(end)
		return nil
	}
	a.changes = 0
	a.session.published.add(xid) // before any pin sees it
	if err := a.session.target.Commit(end, at); err != nil {
		return errApply.because("%v", err).from(err)
	}
	a.moved(end)
	return nil
}

func (a *mainApplier) received(walEnd LSN) {
	a.session.target.Received(walEnd)
	a.moved(walEnd)
}

func (a *mainApplier) moved(at LSN) {
	a.session.positions.advance(at)
	a.feed.confirm(at)
}

// leave ends the mirrors of tables that load again.
func (a *mainApplier) leave(names []Name) {
	for oid, j := range a.joined {
		if slices.Contains(names, j.table.Name) {
			delete(a.joined, oid)
			a.session.target.Fail(j.table, errUnwanted)
		}
	}
}

// fail ends the mirror of a table that has joined.
func (a *mainApplier) fail(t *Table, reason error) {
	delete(a.joined, t.OID)
	a.session.target.Fail(t, reason)
	a.session.failed(t.Name, reason)
	a.session.nudge()
}
