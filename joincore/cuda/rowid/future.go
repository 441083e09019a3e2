//go:build cuda

package rowid

import (
	"context"
	"errors"
	"fmt"

	"gpujoin/joincore/cuda/driver"
)

// Future is bytes of device memory on their way to the host: they are copied
// behind the steps before it, and the queue goes on meanwhile. Futures may be
// awaited in any order, and any number of times.
type Future struct {
	queue  *Queue
	slot   *slot // nil: value or err is there
	writes int64 // of the queue, when it was asked for
	value  []byte
	err    error
}

// Device returns the number of the device that computes it.
func (f *Future) Device() int { return f.queue.stream.Context().Info().Ordinal }

// Wait waits for the steps before the future and returns the bytes. Where ctx
// ends first it returns its cause, and can be called again; where the device
// failed, every call returns that error.
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
	if err == nil && q.writes == f.writes { // all that was staged has been copied
		q.staged = stagedFrom
	}
	f.settle(err)
	return f.value, f.err
}

// settle takes the bytes, or the error, out of the slot.
func (f *Future) settle(err error) {
	if f.err = err; err == nil {
		f.value = append([]byte(nil), f.slot.memory...)
	}
	f.slot.owner, f.slot = nil, nil
}

// slot is page-locked memory that a future comes through.
type slot struct {
	memory []byte
	done   *driver.Event
	owner  *Future // nil: none is under way
}

// mailbox is slots that futures take in turn.
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

// later sends device memory to the host. The memory may be rewound at once:
// who takes it comes behind the copy.
func (q *Queue) later(ctx context.Context, m *mailbox, from driver.Ptr, n int64) (*Future, error) {
	s := m.slots[m.next]
	if n > int64(cap(s.memory)) {
		return nil, fmt.Errorf("%d bytes are read back at once, %d are too many", cap(s.memory), n)
	}
	if s.owner != nil { // nobody has asked for it yet; it is old, and there by now
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
