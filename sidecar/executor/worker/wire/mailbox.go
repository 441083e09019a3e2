package wire

import "sync"

// Mailbox collects what is to be sent and sends it as soon as the message
// before has left: one thing in a message when idle, many under load. Nobody
// who puts something in waits for the other side.
type Mailbox[M any] struct {
	send func(*M) error

	mu      sync.Mutex
	idle    sync.Cond
	pending *M
	sending bool
	err     error
}

// NewMailbox returns a mailbox that sends by send, one message at a time.
func NewMailbox[M any](send func(*M) error) *Mailbox[M] {
	m := &Mailbox[M]{send: send}
	m.idle.L = &m.mu
	return m
}

// Put adds to the next message. After an error of send nothing is sent any
// more: whoever receives learns of it first.
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

// Flush waits until everything has been sent, or cannot be.
func (m *Mailbox[M]) Flush() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for m.sending {
		m.idle.Wait()
	}
	return m.err
}
