package foreign

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"gpujoin/sidecar/mirror"
	"gpujoin/sidecar/source"
)

// session is a source.Session.
type session interface {
	Mirror(names ...source.Name)
	Forget(names ...source.Name)
	Wait(ctx context.Context, name source.Name) error
	Describe(ctx context.Context, names ...source.Name) ([]*source.Table, error)
	List(ctx context.Context, schema string) ([]source.Name, error)
	Latest(ctx context.Context) (source.LSN, error)
	WaitFor(ctx context.Context, at source.LSN) error
	Age() (time.Duration, bool)
	Status() source.Status
	Close()

	snapshot(ctx context.Context, tables ...source.Name) (snapshot, error)
}

// realSession is a session with a server.
type realSession struct{ *source.Session }

func (r realSession) snapshot(ctx context.Context, tables ...source.Name) (snapshot, error) {
	n, err := r.Snapshot(ctx, tables...)
	if err != nil {
		return nil, err
	}
	return n, nil
}

func openSession(o source.Options, target source.Target, log *slog.Logger) (session, error) {
	s, err := source.Open(o, target, log)
	if err != nil {
		return nil, err
	}
	return realSession{s}, nil
}

// key names a server and a role there.
type key struct {
	cluster         uint64
	database        uint32
	server, mapping uint32
}

// entry is a session and its mirrors.
type entry struct {
	key
	digest  [sha256.Size]byte // of the options
	options source.Options
	session session
	mirrors *mirror.Server
	stop    context.CancelFunc // of work
	work    sync.WaitGroup     // rewriting of mirrors
	limit   int64              // bytes of all mirrors

	// Guarded by Sources.mu.
	users   int // requests and pins
	retired bool
	remains *source.Options // that are to be removed at the source when the session has ended; nil: none

	mu    sync.Mutex
	begun map[source.Name]*source.Table // as they were when they began to load
}

// mostSessions bounds the sessions of a daemon.
const mostSessions = 1000

var (
	errClosed  = &source.Error{SQLState: "57P01", Message: "gpujoind is stopping"}
	errTooMany = &source.Error{SQLState: "53000", Message: "gpujoind has sessions with too many foreign servers",
		Hint: "drop servers and user mappings that are not used"}
)

// use returns the session of a server, and opens it if there is none with these options. The
// caller leaves it.
func (s *Sources) use(from Peer, o *sourceOptions) (*entry, error) {
	text, err := json.Marshal(o) // in the order of keys
	if err != nil {
		return nil, err
	}
	k, digest := key{from.Cluster, from.Database, o.Server, o.Mapping}, sha256.Sum256(text)
	s.mu.Lock()
	defer s.mu.Unlock()
	old := s.sessions[k]
	switch {
	case s.closed:
		return nil, errClosed
	case old != nil && old.digest == digest:
		old.users++
		return old, nil
	case old == nil && len(s.sessions) >= mostSessions:
		return nil, errTooMany
	}
	e := &entry{key: k, digest: digest, options: o.session(k), users: 1, limit: s.options.Limit, begun: map[source.Name]*source.Table{}}
	e.mirrors = mirror.New(s.memory, mirror.Options{Limit: s.options.Limit, Held: s.servers.bytes, Gone: s.options.Gone})
	log := s.options.Log.With("server", o.Server, "mapping", o.Mapping, "database", from.Database)
	e.session, err = s.open(e.options, source.Mirrored(e.mirrors, e.forms), log)
	if err != nil {
		return nil, err
	}
	if old != nil {
		old.remains = leftBy(old.options, e.options)
		s.retire(old)
	}
	s.sessions[k] = e
	s.servers.add(e.mirrors)
	ctx, cancel := context.WithCancel(context.Background())
	e.stop = cancel
	e.work.Go(func() { e.mirrors.Work(ctx) })
	return e, nil
}

// forms records a table that begins to load, and returns the columns of its mirror.
func (e *entry) forms(t *source.Table) []source.Form {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.begun[t.Name] = t
	return source.Forms(t)
}

// planned returns a table as it was when it began to load; nil: it has not.
func (e *entry) planned(name source.Name) *source.Table {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.begun[name]
}

// leave ends a use of a session.
func (s *Sources) leave(e *entry) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e.users--
	s.endUnused(e)
}

// retire takes a session out of use. It ends with its last user. The caller holds mu.
func (s *Sources) retire(e *entry) {
	e.retired = true
	delete(s.sessions, e.key)
	s.endUnused(e)
}

// endUnused ends a retired session without users. The caller holds mu.
func (s *Sources) endUnused(e *entry) {
	if e.retired && e.users == 0 {
		s.ending.Go(func() { s.close(e) })
	}
}

// close ends a session and gives the memory of its mirrors back.
func (s *Sources) close(e *entry) {
	e.session.Close()
	e.stop()
	e.work.Wait()
	e.mirrors.Reset(errReplaced)
	s.servers.remove(e.mirrors)
	if e.remains != nil {
		s.removeAt(e.key, *e.remains)
	}
}

var errReplaced = &source.Error{SQLState: "55000", Message: "the session with the source has ended"}

// servers are those whose mirrors share one limit. They are read under locks of each of them.
type servers struct {
	mu  sync.Mutex // of changes
	all atomic.Pointer[map[*mirror.Server]struct{}]
}

// bytes returns the memory of all mirrors.
func (l *servers) bytes() (n int64) {
	all := l.all.Load()
	if all == nil {
		return 0
	}
	for m := range *all {
		extents, besides := m.Bytes()
		n += extents + besides
	}
	return n
}

func (l *servers) add(m *mirror.Server) {
	l.change(func(all map[*mirror.Server]struct{}) { all[m] = struct{}{} })
}
func (l *servers) remove(m *mirror.Server) {
	l.change(func(all map[*mirror.Server]struct{}) { delete(all, m) })
}

// change puts a changed copy in place.
func (l *servers) change(f func(map[*mirror.Server]struct{})) {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := map[*mirror.Server]struct{}{}
	if old := l.all.Load(); old != nil {
		for m := range *old {
			all[m] = struct{}{}
		}
	}
	f(all)
	l.all.Store(&all)
}
