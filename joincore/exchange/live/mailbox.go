package live

import "sync"

// mailbox is a queue without bound: senders never wait.
type mailbox struct {
	mu     sync.Mutex
	more   sync.Cond
	list   []func()
	closed bool
}

func newMailbox() *mailbox {
	m := &mailbox{}
	m.more.L = &m.mu
	return m
}

func (m *mailbox) put(do func()) {
	m.mu.Lock()
	m.list = append(m.list, do)
	m.mu.Unlock()
	m.more.Signal()
}

func (m *mailbox) close() {
	m.mu.Lock()
	m.closed = true
	m.mu.Unlock()
	m.more.Signal()
}

// take waits for messages and returns all that there are; none once the mailbox is
// closed.
func (m *mailbox) take() []func() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for len(m.list) == 0 && !m.closed {
		m.more.Wait()
	}
	list := m.list
	m.list = nil
	return list
}
