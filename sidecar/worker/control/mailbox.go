package control

import "sync"

// Mailbox batches outgoing items. It sends the next message as soon as the
// previous one has been sent: one item per message when idle, many under load.
// Put never waits for the peer.
type Mailbox[M any] struct {
	send func(*M) error

	mu      sync.Mutex
	idle    sync.Cond
	pending *M
	sending bool
	err     error
}

// NewMailbox returns a mailbox that calls send for one message at a time.
func NewMailbox[M any](send func(*M) error) *Mailbox[M] {
	m := &Mailbox[M]{send: send}
	m.idle.L = &m.mu
	return m
}

// Put calls add to add an item to the next message. After send has failed,
// items are dropped; the receiving side reports the error first.
func (m *Mailbox[M]) Put(add func(*M)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.err != nil {
		return
	}
	if m.pending == nil {
		m.pending = new(M)
	}
	add(m.pending)
	if !m.sending {
		m.sending = true
		go m.drain()
	}
}

func (m *Mailbox[M]) drain() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for m.pending != nil && m.err == nil {
		next := m.pending
		m.pending = nil
		m.mu.Unlock()
		err := m.send(next)
		m.mu.Lock()
		m.err = err
	}
	m.sending = false
	m.idle.Broadcast()
}

// Flush waits until everything has been sent, and returns the error of send.
func (m *Mailbox[M]) Flush() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for m.sending {
		m.idle.Wait()
	}
	return m.err
}
