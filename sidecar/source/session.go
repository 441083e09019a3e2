package source

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// State is the state of a session or of a table.
type State string

// The states. A table has StateLoading, StateReady and StateFailed only.
const (
	StateConnecting State = "connecting" // the source cannot be reached now; Reason says why
	StateLoading    State = "loading"    // some tables load
	StateReady      State = "ready"      // the mirrors are current
	StateBehind     State = "behind"     // the mirrors are older than behindTime
	StateFailed     State = "failed"     // somebody must act on Reason; tried again meanwhile
)

// behindTime is the age from which mirrors are behind.
const behindTime = 2 * time.Second

// memoryPause is the time after which a table is loaded again for which there was no memory.
const memoryPause = 5 * time.Minute

// Status is what a session does now.
type Status struct {
	State    State
	Since    time.Time     // of StateConnecting, StateFailed and StateBehind
	Reason   error         // of StateConnecting and StateFailed
	Position LSN           // everything committed before is in the mirrors
	LagBytes int64         // from Position to the source's newest known position
	Lag      time.Duration // since when the mirrors miss something
	Retained int64         // bytes of WAL that the source keeps for the slot
	Tables   []TableStatus // by name
}

// TableStatus is the state of a table's mirror.
type TableStatus struct {
	Name   Name
	State  State
	Reason error     // of StateFailed, and of the last failure while it loads again
	Rows   int64     // loaded up to now by the current or last load
	Since  time.Time // it has its state
	Next   time.Time // when a table that is not ready loads or has loaded
}

// Session keeps the mirrors of one source for one remote role. It is safe for concurrent use.
type Session struct {
	options Options
	target  Target
	log     *slog.Logger
	server  *server
	asker   asker
	ctx     context.Context
	cancel  context.CancelFunc
	all     sync.WaitGroup

	positions positions
	published published
	wake      chan struct{} // of capacity 1: a table is wanted
	hurry     chan struct{} // of capacity 1: somebody waits for the source

	mu       sync.Mutex
	live     bool      // the stream is being applied
	since    time.Time // live and failing have their values
	attempts int       // to attend to the source, that have ended
	waiting  int       // callers of Wait and WaitFor
	reason   error
	retained int64
	load     *loadInfo
	flushing bool // the source is being made to write its WAL
	entries  map[Name]*entry
	changed  chan struct{} // closed at the next change of an entry
}

// loadInfo is the load that runs.
type loadInfo struct {
	slot string
	stop context.CancelCauseFunc
}

// entry is a wanted table. The session's lock guards it.
type entry struct {
	name     Name
	state    State
	reason   error
	rows     int64
	due      time.Time // when it loads next, unless it is ready
	since    time.Time // it has its state
	failures int
}

// become sets the state.
func (e *entry) become(state State) {
	if e.state != state {
		e.state, e.since = state, time.Now()
	}
}

// ready records that a table has joined. A table that fails again soon is loaded after
// longer and longer pauses.
func (e *entry) ready() {
	e.become(StateReady)
	e.reason = nil
}

// steadyTable is how long a mirror must last until its next failure counts as the first.
const steadyTable = time.Minute

// Open begins a session. It connects in the background, when a table is wanted; the error is
// one of the options. log gets what happens to the session, and no value of an option.
func Open(o Options, target Target, log *slog.Logger) (*Session, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	o = o.withDefaults()
	server, err := newServer(o)
	if err != nil {
		return nil, err
	}
	s := &Session{options: o, target: target, log: log, server: server, wake: make(chan struct{}, 1), hurry: make(chan struct{}, 1),
		since: time.Now(), entries: map[Name]*entry{}, changed: make(chan struct{})}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.asker = asker{connect: server.plain, ended: s.ctx}
	s.all.Go(s.run)
	return s, nil
}

// Close ends the session and its connections. A permanent slot remains, and a publication; see
// Remove.
func (s *Session) Close() {
	s.cancel()
	s.all.Wait()
	s.asker.close()
	s.server.close()
}

// Mirror asks for mirrors of tables. It returns at once; a table that is wanted already is
// left as it is.
func (s *Session) Mirror(names ...Name) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, n := range names {
		if s.entries[n] == nil {
			s.entries[n] = &entry{name: n, state: StateLoading, due: time.Now(), since: time.Now()}
		}
	}
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// Forget ends the mirrors of tables, within a moment. They remain in the publication. A
// table that is forgotten and mirrored again has the columns that were added meanwhile.
func (s *Session) Forget(names ...Name) {
	s.update(func() {
		for _, n := range names {
			delete(s.entries, n)
		}
	})
}

// wanted reports whether a table is to be mirrored.
func (s *Session) wanted(name Name) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.entries[name] != nil
}

// wait counts a caller who waits for the source, until done is called: pauses are short meanwhile.
func (s *Session) wait() (done func()) {
	s.mu.Lock()
	s.waiting++
	s.mu.Unlock()
	select {
	case s.hurry <- struct{}{}:
	default:
	}
	return func() {
		s.mu.Lock()
		s.waiting--
		s.mu.Unlock()
	}
}

// awaited reports whether somebody waits for the source.
func (s *Session) awaited() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.waiting > 0
}

// Wait returns when a table that is wanted is ready, or with the reason when it has failed. What
// has failed before the call is tried once more, at once: somebody may have repaired it.
func (s *Session) Wait(ctx context.Context, name Name) error {
	defer s.wait()()
	s.mu.Lock()
	attempts, failures := s.attempts, 0
	if e := s.entries[name]; e != nil && e.state != StateReady {
		e.due, failures = time.Now(), e.failures
	}
	s.mu.Unlock()
	s.nudge()
	for {
		s.mu.Lock()
		e, changed := s.entries[name], s.changed
		var state State
		var reason error
		if e != nil {
			state, reason = e.state, e.reason
			if state == StateFailed && e.failures == failures {
				state = StateLoading // tried again
			}
		}
		if s.failing() && s.attempts > attempts {
			state, reason = StateFailed, s.reason
		}
		s.mu.Unlock()
		switch {
		case e == nil:
			return errNoTable.because("%s is not wanted", name)
		case state == StateReady:
			return nil
		case state == StateFailed:
			return reason
		}
		select {
		case <-changed:
		case <-s.ctx.Done():
			return context.Canceled
		case <-ctx.Done():
			return errors.Join(ctx.Err(), reason)
		}
	}
}

// Facts asks the source what it is. The error is that of a source which cannot be reached, or
// from which nothing can be mirrored; in the second case the facts are valid.
func (s *Session) Facts(ctx context.Context) (Facts, error) {
	f, err := s.server.facts(ctx)
	if err != nil {
		return f, err
	}
	return f, f.check()
}

// Describe returns tables as they are in the source's catalogue. Those that do not exist, or
// in schemas that the role may not use, are left out.
func (s *Session) Describe(ctx context.Context, names ...Name) ([]*Table, error) {
	tables, err := describe(ctx, s.server.pool, names)
	if err != nil {
		return nil, err
	}
	return tables, measure(ctx, s.server.pool, tables)
}

// List returns the names of a schema's tables, views and foreign tables.
func (s *Session) List(ctx context.Context, schema string) ([]Name, error) {
	var exists bool
	err := s.server.pool.QueryRow(ctx, "select exists (select from pg_catalog.pg_namespace where nspname = $1)", schema).Scan(&exists)
	if err != nil {
		return nil, translate("listing tables", err)
	}
	if !exists {
		return nil, errNoSchema.because("schema %q", schema)
	}
	rows, err := s.server.pool.Query(ctx, `select c.relname from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
		where n.nspname = $1 and c.relkind in ('r', 'p', 'v', 'm', 'f') order by 1`, schema)
	if err != nil {
		return nil, translate("listing tables", err)
	}
	var names []Name
	for rows.Next() {
		n := Name{Schema: schema}
		if err := rows.Scan(&n.Table); err != nil {
			return nil, translate("listing tables", err)
		}
		names = append(names, n)
	}
	return names, translate("listing tables", rows.Err())
}

// Latest asks the source for a position such that everything committed there before the call
// is below it.
func (s *Session) Latest(ctx context.Context) (LSN, error) { return s.asker.latest(ctx) }

// Age returns how old the mirrors are at most: everything committed longer ago is in them. False:
// nothing tells, because no stream has been applied yet.
func (s *Session) Age() (time.Duration, bool) { return s.positions.age(time.Now()) }

// WaitFor returns when the mirrors have reached a position. When ctx ends before, the error
// says how far they are behind, and why.
func (s *Session) WaitFor(ctx context.Context, at LSN) error {
	defer s.wait()()
	err := s.waitFor(ctx, at)
	if err == nil || errors.Is(err, context.Canceled) {
		return err
	}
	now := s.Status()
	late := errLate.because("they are %d bytes behind", int64(at-now.Position))
	if now.Reason != nil {
		late = errLate.because("they are %d bytes behind; %s: %v", int64(at-now.Position), now.State, now.Reason)
	}
	return late.from(err)
}

// Status returns what the session does now.
func (s *Session) Status() Status {
	bytes, since := s.positions.lag(time.Now())
	now := Status{State: StateReady, Position: s.positions.at(), LagBytes: bytes, Lag: since}
	s.mu.Lock()
	defer s.mu.Unlock()
	now.Reason, now.Retained = s.reason, s.retained
	for _, name := range slices.SortedFunc(maps.Keys(s.entries), compareNames) {
		e := s.entries[name]
		now.Tables = append(now.Tables, TableStatus{Name: name, State: e.state, Reason: e.reason, Rows: e.rows, Since: e.since, Next: e.due})
		if e.state == StateLoading {
			now.State = StateLoading
		}
	}
	switch {
	case s.failing():
		now.State, now.Since = StateFailed, s.since
	case !s.live && len(s.entries) > 0:
		now.State, now.Since = StateConnecting, s.since
	case now.State == StateReady && since > behindTime:
		now.State, now.Since = StateBehind, time.Now().Add(behindTime-since)
	}
	return now
}

// failing reports whether somebody must act until the source is attended to. The caller holds mu.
func (s *Session) failing() bool { return s.reason != nil && hopeless(s.reason) }

func compareNames(a, b Name) int {
	if c := strings.Compare(a.Schema, b.Schema); c != 0 {
		return c
	}
	return strings.Compare(a.Table, b.Table)
}

// update changes entries under the lock and tells those who wait.
func (s *Session) update(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
	close(s.changed)
	s.changed = make(chan struct{})
}

// failed records a table's failure and when it is tried again.
func (s *Session) failed(name Name, reason error) {
	s.log.Warn("a mirror failed", "table", name.String(), "reason", reason)
	s.update(func() {
		e := s.entries[name]
		if e == nil {
			return
		}
		if e.state == StateReady && time.Since(e.since) > steadyTable {
			e.failures = 0
		}
		e.failures++
		e.reason = reason
		if hopeless(reason) {
			e.become(StateFailed)
		} else {
			e.become(StateLoading)
		}
		pause := backoff(e.failures, time.Second, time.Minute)
		if errors.Is(reason, errMemory) {
			pause = memoryPause // a load costs the source much
		}
		e.due = time.Now().Add(pause)
	})
}

// hopeless reports whether a failure stays until somebody changes the source or the options.
// Other ones pass, or are repaired by a new load.
func hopeless(reason error) bool { return !Passing(reason) && !again(reason) }

// again reports whether a failure is repaired by a new load.
func again(reason error) bool {
	for _, e := range []*Error{errRewritten, errLocked, errTogether, errAltered, errRepublished, errStream, errSlotLost, errRetained, errElsewhere, errApply} {
		if errors.Is(reason, e) {
			return true
		}
	}
	return false
}

// backoff returns the pause after a number of failures in a row: first, then twice as long
// each time, up to most.
func backoff(failures int, first, most time.Duration) time.Duration {
	return min(first<<min(max(failures-1, 0), 20), most)
}
