package foreign

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"sync"

	"gpujoin/sidecar/mirror"
	"gpujoin/sidecar/source"
)

// snapshot is a source.Snapshot.
type snapshot interface {
	Copy(ctx context.Context, what source.Read, deliver func(*source.Batch) error) error
	Close()
}

// Pin is the position of a statement at a server, and a hold on what its tables have there.
// Its methods are safe for concurrent use.
type Pin struct {
	token    string
	peer     Peer
	entry    *entry
	position string
	mirror   *mirror.Pin // nil: no table is read from its mirror
	direct   snapshot    // nil: no table is read directly
	tables   map[source.Name]*pinned
	first    *Pin   // whose position this one has, and whose mirror and snapshot it reads; nil: its own
	end      func() // called once, when nobody holds the pin any more

	mu   sync.Mutex
	refs int // the owner and the jobs; 0: ended
}

// pinned is a table of a pin.
type pinned struct {
	direct  bool
	oid     uint32          // of a mirrored table, at the source
	columns []mirror.Column // of a mirrored table, in the order of mirror.Pin.Relation
}

// newToken returns a token, which nobody can guess.
func newToken() string {
	var id [16]byte
	_, _ = rand.Read(id[:]) // never fails
	return hex.EncodeToString(id[:])
}

// hold adds a reference; false: the pin has ended.
func (p *Pin) hold() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.refs == 0 {
		return false
	}
	p.refs++
	return true
}

// Release gives a hold on the pin back. What Read has returned must not be used any more.
func (p *Pin) Release() {
	p.mu.Lock()
	p.refs--
	last := p.refs == 0
	p.mu.Unlock()
	if !last {
		return
	}
	p.close()
	p.end()
}

// close ends what the pin reads.
func (p *Pin) close() {
	if p.mirror != nil && (p.first == nil || p.first.mirror != p.mirror) {
		p.mirror.Close()
	}
	if p.direct != nil && (p.first == nil || p.first.direct != p.direct) {
		p.direct.Close()
	}
	if p.first != nil {
		p.first.Release()
	}
}

var errNoPin = &source.Error{SQLState: "55000", Message: "the position of the foreign server is not known to gpujoind",
	Detail: "it was released, the server's options have changed, or the daemon has been restarted", Hint: "run the transaction again"}

// Find returns the pin of a token, for a job of the same database. The caller releases it.
func (s *Sources) Find(token string, from Peer) (*Pin, error) {
	s.mu.Lock()
	p := s.pins[token]
	s.mu.Unlock()
	if p == nil || p.peer.Cluster != from.Cluster || p.peer.Database != from.Database || !p.hold() {
		return nil, errNoPin
	}
	return p, nil
}

// Owner holds the pins of one connection. Its zero value has none.
type Owner struct {
	mu     sync.Mutex
	pins   map[string]*Pin
	closed bool
}

// Close releases the pins. A pin that is added later is released at once.
func (o *Owner) Close() {
	o.mu.Lock()
	pins := o.pins
	o.pins, o.closed = nil, true
	o.mu.Unlock()
	for _, p := range pins {
		p.Release()
	}
}

// Holds reports whether the owner has pins.
func (o *Owner) Holds() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.pins) > 0
}

// add gives the owner a pin's first reference.
func (o *Owner) add(p *Pin) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		defer p.Release()
		return
	}
	if o.pins == nil {
		o.pins = map[string]*Pin{}
	}
	o.pins[p.token] = p
}

// drop releases a pin, if the owner has it.
func (o *Owner) drop(token string) {
	o.mu.Lock()
	p := o.pins[token]
	delete(o.pins, token)
	o.mu.Unlock()
	if p != nil {
		p.Release()
	}
}
