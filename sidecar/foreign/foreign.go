// Package foreign answers what backends ask of foreign servers: it keeps a session and the
// mirrors of each server and user mapping, and the pins of statements that read them.
//
// A request is JSON, as docs/internals/sources.md describes it. A pin is the position of a statement
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
	"encoding/json"
	"log/slog"
	"sync"

	"gpujoin/sidecar/mirror"
	"gpujoin/sidecar/source"
)

// Options configure Sources.
type Options struct {
	Limit int64 // bytes of all mirrors; 0: no table is mirrored
	// Gone is told contents of columns (joincore.Vector) that no later read has. It is called with
	// locks held, and may not call back. nil: nobody is told.
	Gone func(content uint64)
	// Resident returns a function that returns the bytes that a content takes on devices; nil: none
	// does.
	Resident func() func(content uint64) int64
	Log      *slog.Logger
}

// Sources are the sessions with all foreign servers. They are safe for concurrent use.
type Sources struct {
	memory  mirror.Memory
	options Options
	// Set by tests.
	open   func(source.Options, source.Target, *slog.Logger) (session, error)
	remove func(context.Context, source.Options) (source.Removed, error)

	ctx     context.Context // ends with Close
	stop    context.CancelFunc
	ending  sync.WaitGroup // of sessions that end, and of what is removed at sources
	servers servers        // all that have mirrors

	mu       sync.Mutex
	closed   bool
	sessions map[key]*entry
	pins     map[string]*Pin
}

// New returns sources without sessions. Their mirrors take memory from m.
func New(m mirror.Memory, o Options) *Sources {
	s := &Sources{memory: m, options: o, open: openSession, remove: source.Remove, sessions: map[key]*entry{}, pins: map[string]*Pin{}}
	s.ctx, s.stop = context.WithCancel(context.Background())
	return s
}

// Close ends all sessions, and waits until they have ended. All owners must have been closed,
// and all pins been released.
func (s *Sources) Close() {
	s.stop()
	s.mu.Lock()
	s.closed = true
	for _, e := range s.sessions {
		s.retire(e)
	}
	s.mu.Unlock()
	s.ending.Wait()
}

// Peer is who sends a request: a connection of a backend of one database.
type Peer struct {
	Cluster  uint64 // system identifier
	Database uint32
	Owner    *Owner // of the pins that are made
}

// Kind is what a request asks for: enum gj_source_kind of shm/source.h.
type Kind uint32

// Kinds.
const (
	KindPin Kind = iota + 1
	KindUnpin
	KindMirror
	KindUnmirror
	KindImport
	KindMirrors
	KindSize
	KindCheck
	KindClose
)

// Handle answers a request: JSON to JSON. It returns early, with an error, when ctx ends.
func (s *Sources) Handle(ctx context.Context, from Peer, kind Kind, body []byte) []byte {
	answer, err := s.answer(ctx, from, kind, body)
	if err == nil {
		var text []byte
		if text, err = json.Marshal(answer); err == nil {
			return text
		}
	}
	return errorJSON(err)
}

// empty is the answer without members.
type empty struct{}

func (s *Sources) answer(ctx context.Context, from Peer, kind Kind, body []byte) (any, error) {
	r, err := decode(kind, body)
	if err != nil {
		return nil, err
	}
	switch kind {
	case KindUnpin:
		from.Owner.drop(r.Token)
		return empty{}, nil
	case KindMirrors:
		return s.list(from), nil
	case KindClose:
		s.end(from, r)
		return empty{}, nil
	}
	e, err := s.use(from, r.Source)
	if err != nil {
		return nil, err
	}
	defer s.leave(e)
	switch kind {
	case KindPin:
		return s.pin(ctx, from, e, r)
	case KindMirror:
		return e.mirror(ctx, r)
	case KindUnmirror:
		e.session.Forget(r.names()...)
		return empty{}, nil
	case KindImport:
		return e.importSchema(ctx, r)
	case KindSize:
		return e.size(ctx, r)
	}
	return e.check(ctx, r)
}
