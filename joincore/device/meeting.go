package device

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"gpujoin/joincore"
)

// Meeting is where executions on several devices meet once: each brings its part, the last one
// to come works for all of them, and each leaves with a result of its own.
//
// As long as one is missing, an execution whose context ends leaves, which calls the meeting off:
// its part is not used. When the work has begun, it reads and writes the memory of all, so all of
// them wait for its end, whatever becomes of their contexts.
type Meeting[Part, Result any] struct {
	work func(ctx context.Context, parts []Part) ([]Result, error)

	mu      sync.Mutex
	parts   []Part
	came    []bool
	at      []time.Time // when each came
	missing int
	off     error // why it was called off; nil: it was not

	over    chan struct{} // closed when it was called off, or the work has ended
	results []Result      // valid when over, unless err is set
	err     error
}

// NewMeeting returns a meeting of some members, numbered from 0. work gets their parts in this
// order, and the context of the member that calls it; it returns as many results.
func NewMeeting[Part, Result any](members int, work func(ctx context.Context, parts []Part) ([]Result, error)) *Meeting[Part, Result] {
	return &Meeting[Part, Result]{
		work: work, parts: make([]Part, members), came: make([]bool, members), at: make([]time.Time, members),
		missing: members, over: make(chan struct{}),
	}
}

// errNoEnd is the error of a meeting whose work has panicked: the panic is that of one member.
var errNoEnd = errors.New("the work for all devices has failed on another one")

// Join brings a member's part, waits for the end of the meeting, and returns the member's result.
// The error is that of the work, the same for all members, or the cause of the context by which a
// member has left.
func (m *Meeting[Part, Result]) Join(ctx context.Context, member int, part Part) (result Result, err error) {
	last, err := m.come(ctx, member, part)
	if err != nil {
		return result, err
	}
	if last {
		m.hold(ctx)
	} else {
		m.wait(ctx)
	}
	if m.err != nil {
		return result, m.err
	}
	return m.results[member], nil
}

// come notes a member's part, and reports whether it was the last one that was missing.
func (m *Meeting[Part, Result]) come(ctx context.Context, member int, part Part) (last bool, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.came[member]:
		return false, fmt.Errorf("device %d of %d meets the others a second time: %w", member, len(m.came), joincore.ErrInvalid)
	case m.off != nil:
		return false, m.off
	case ctx.Err() != nil:
		m.callOff(context.Cause(ctx))
		return false, m.off
	}
	m.parts[member], m.came[member], m.at[member] = part, true, time.Now()
	m.missing--
	return m.missing == 0, nil
}

// Waited returns how long a member has waited for the last one to come; 0 if not all have come.
func (m *Meeting[Part, Result]) Waited(member int) time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.missing > 0 {
		return 0
	}
	last := m.at[member]
	for _, t := range m.at {
		if t.After(last) {
			last = t
		}
	}
	return last.Sub(m.at[member])
}

// callOff ends a meeting whose work has not begun. The caller holds mu.
func (m *Meeting[Part, Result]) callOff(cause error) {
	m.off, m.err = cause, cause
	close(m.over)
}

// hold does the work.
func (m *Meeting[Part, Result]) hold(ctx context.Context) {
	results, err := []Result(nil), errNoEnd
	defer func() { // also after a panic
		m.results, m.err = results, err
		close(m.over)
	}()
	if results, err = m.work(ctx, m.parts); err == nil && len(results) != len(m.parts) {
		err = fmt.Errorf("%d results for %d devices: %w", len(results), len(m.parts), joincore.ErrInvalid)
	}
}

// wait waits until the meeting is over.
func (m *Meeting[Part, Result]) wait(ctx context.Context) {
	select {
	case <-m.over:
		return
	case <-ctx.Done():
	}
	m.mu.Lock()
	if m.missing > 0 && m.off == nil {
		m.callOff(context.Cause(ctx))
	}
	m.mu.Unlock()
	<-m.over
}
