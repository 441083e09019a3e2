package live

import (
	"sync"

	"gpujoin/joincore/exchange"
)

// message is something that a node is told.
type message struct {
	kind  messageKind
	to    int             // the node's GPU, but for learned
	from  int             // heard, learned
	note  exchange.Note   // heard, learned
	flow  exchange.Flow   // offered
	batch *exchange.Batch // sent, arrived
	into  exchange.Place  // arrived
}

type messageKind uint8

const (
	offered messageKind = iota
	heard
	learned // by all nodes of the loop
	sent
	arrived
)

// mailbox is a queue without bound: senders never wait.
type mailbox struct {
	mu     sync.Mutex
	more   sync.Cond
	list   []message
	closed bool
}

func newMailbox() *mailbox {
	m := &mailbox{}
	m.more.L = &m.mu
	return m
}

func (m *mailbox) put(x ...message) {
	m.mu.Lock()
	m.list = append(m.list, x...)
	m.mu.Unlock()
	m.more.Signal()
}

func (m *mailbox) close() {
	m.mu.Lock()
	m.closed = true
	m.mu.Unlock()
	m.more.Signal()
}

// take returns all messages; if wait is set and there are none, it waits for some. It
// keeps the memory of old messages for later ones. open is false if there will be no more.
func (m *mailbox) take(old []message, wait bool) (list []message, open bool) {
	clear(old)
	m.mu.Lock()
	defer m.mu.Unlock()
	for wait && len(m.list) == 0 && !m.closed {
		m.more.Wait()
	}
	list, m.list = m.list, old[:0]
	return list, len(list) > 0 || !m.closed
}
