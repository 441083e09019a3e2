// Package foreign answers what backends ask of foreign servers: it keeps a session and the
// mirrors of each server and user mapping, and the pins of statements that read them.
//
// A request is JSON, as docs/sources.md describes it. A pin is the position of a statement
// at one server: all its mirrored tables are read at one position of the server's commits,
// and all that are read directly under one snapshot. It belongs to the connection that asked
// for it, and to the jobs that read from it.
//
// A session is opened by the first request that names its server and mapping. One with other
// options takes its place; the old one ends with its last pin. Rows that one remote role may
// see are never served to another: mappings share nothing.
package foreign

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"log/slog"
	"sync"

	"gpujoin/joincore"
	"gpujoin/sidecar/mirror"
	"gpujoin/sidecar/source"
)

// Options configure Sources.
type Options struct {
	Limit int64 // bytes of all mirrors; 0: no table is mirrored
	Log   *slog.Logger
}

// Peer is who sends a request: a connection of a backend of one database.
type Peer struct {
	Cluster  uint64 // system identifier
	Database uint32
	Owner    *Owner
}

// Read says what a job reads of a table.
type Read struct {
	Schema, Table string
	Columns       []Column
	// Extent returns memory of the job, of ExtentSize bytes: for the rows of a table that is read
	// directly, and for copies for which mirrors have no memory.
	Extent     func() ([]byte, error)
	ExtentSize int
	Sample     *Sample // nil: all rows
}

// Column is a column that a job reads, in one form.
type Column struct {
	Name     string // at the source
	Type     uint32 // of a domain: of the type below it
	Typmod   int32
	Text     bool // the value is wanted as text
	Form     int  // encode.Form
	Scale    int  // of a form of numerics
	Physical joincore.Column
}

// Sample is a number of rows that are chosen at random.
type Sample struct {
	Rows int64
	Seed uint64
}

// newToken returns a new token, which nobody can guess.
func newToken() string {
	var id [16]byte
	_, _ = rand.Read(id[:]) // never fails
	return hex.EncodeToString(id[:])
}

// snapshot is a source.Snapshot.
type snapshot interface {
	Copy(ctx context.Context, what source.Read, deliver func(*source.Batch) error) error
	Close()
}

// Pin is the position of a statement at a server, and a hold on what its tables have there.
// Its methods are safe for concurrent use.
type Pin struct {
	token  string
	peer   Peer
	mirror *mirror.Pin // nil: no table is read from its mirror
	direct snapshot    // nil: no table is read directly
	tables map[source.Name]*pinned
	end    func() // called once, when nobody holds the pin any more

	mu   sync.Mutex
	refs int // the owner and the jobs; 0: ended
}

// pinned is a table of a pin.
type pinned struct {
	direct  bool
	oid     uint32          // of a mirrored table, at the source
	columns []mirror.Column // of a mirrored table, in the order of mirror.Pin.Relation
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
	if p.mirror != nil {
		p.mirror.Close()
	}
	if p.direct != nil {
		p.direct.Close()
	}
	p.end()
}

// Find returns the pin of a token, for a job of the same database. The caller releases it.
func (s *Sources) Find(token string, from Peer) (*Pin, error) {
	s.mu.Lock()
	p := s.pins[token]
	s.mu.Unlock()
	if p == nil || p.peer.Cluster != from.Cluster || p.peer.Database != from.Database || !p.hold() {
		return nil, fmt.Errorf("the position of a foreign server is not known, or its statement has ended")
	}
	return p, nil
}
