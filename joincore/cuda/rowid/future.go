//go:build cuda

package rowid

import (
	"context"
	"errors"
	"fmt"

	"gpujoin/joincore/cuda/driver"
)

// Future is device memory that is being copied to the host, after the steps queued
// before it. The queue continues meanwhile. Futures may be awaited in any order, and
// repeatedly.
type Future struct {
	queue  *Queue
	slot   *slot // nil: value or err is set
	writes int64 // the queue's writes when the future was created
	value  []byte
	err    error
}

// Device returns the number of the device that computes it.
func (f *Future) Device() int { return f.queue.stream.Context().Info().Ordinal }

// Wait waits for the steps before the future and returns the bytes. If ctx ends first
// it returns ctx's cause and may be called again. If the device failed, every call
// returns that error.
func (f *Future) Wait(ctx context.Context) ([]byte, error) {
	if f.slot == nil {
		return f.value, f.err
	}
	q := f.queue
	q.cost.Syncs++
	err := f.slot.done.Sync(ctx)
	if err != nil && context.Cause(ctx) != nil && errors.Is(err, context.Cause(ctx)) {
		return nil, err
	}
	if err == nil && q.writes == f.writes { // all staged bytes have been copied
		q.staged = stagedFrom
	}
	f.settle(err)
	return f.value, f.err
}

// settle moves the bytes, or the error, out of the slot.
func (f *Future) settle(err error) {
	if f.err = err; err == nil {
		f.value = append([]byte(nil), f.slot.memory...)
	}
	f.slot.owner, f.slot = nil, nil
}

// slot is page-locked memory through which a future is copied.
type slot struct {
	memory []byte
	done   *driver.Event
	owner  *Future // nil: the slot is free
}

// mailbox is a ring of slots for futures.
type mailbox struct {
	slots []*slot
	next  int
}

// newMailbox divides page-locked memory into slots.
func newMailbox(c *driver.Context, memory []byte, slots int) (*mailbox, error) {
	m, each := &mailbox{}, len(memory)/slots
	for i := range slots {
		done, err := c.NewEvent(false)
		if err != nil {
			return nil, errors.Join(err, m.close())
		}
		m.slots = append(m.slots, &slot{memory: memory[i*each : (i+1)*each : (i+1)*each], done: done})
	}
	return m, nil
}

func (m *mailbox) close() error {
	var errs []error
	for _, s := range m.slots {
		errs = append(errs, s.done.Close())
	}
	return errors.Join(errs...)
}

// later queues a copy of device memory to the host. The memory may be rewound at once:
// its next use is queued after the copy.
func (q *Queue) later(ctx context.Context, m *mailbox, from driver.Ptr, n int64) (*Future, error) {
	s := m.slots[m.next]
	if n > int64(cap(s.memory)) {
		return nil, fmt.Errorf("%d bytes are read back at once, %d are too many", cap(s.memory), n)
	}
	if s.owner != nil { // not awaited yet; it is old, and has arrived by now
		if _, err := s.owner.Wait(ctx); s.owner != nil {
			return nil, err
		}
	}
	m.next = (m.next + 1) % len(m.slots)
	s.memory = s.memory[:n]
	if err := q.stream.CopyOut(s.memory, from); err != nil {
		return nil, err
	}
	if err := q.stream.Record(s.done); err != nil {
		return nil, err
	}
	s.owner = &Future{queue: q, slot: s, writes: q.writes}
	return s.owner, nil
}
