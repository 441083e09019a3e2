package source

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pglogrepl"
	"github.com/jackc/pgx/v5/pgconn"
)

// The pauses between attempts to connect: of errors that may pass, and of others.
const (
	firstPause, mostPause = 100 * time.Millisecond, 30 * time.Second
	firstRetry, mostRetry = 5 * time.Second, time.Minute
)

// setupTime bounds each question before the stream begins, but for the slot's.
const setupTime = 30 * time.Second

// steady is how long a stream must last until the next failure counts as the first.
const steady = 10 * time.Second

// stream is the state of the main stream that survives a connection.
type stream struct {
	system   string // the source's system identifier
	timeline int32
	main     *mainApplier
}

// run attends to the source until the session is closed.
func (s *Session) run() {
	m := &stream{main: newMainApplier(s)}
	failures := 0
	for s.waitWanted(); s.ctx.Err() == nil; {
		began := time.Now()
		err := s.attend(m)
		if s.ctx.Err() != nil {
			return
		}
		if failures++; time.Since(began) > steady {
			failures = 1
		}
		pause := backoff(failures, firstRetry, mostRetry)
		if !hopeless(err) {
			pause = backoff(failures, firstPause, mostPause)
		}
		s.log.Warn("the source is not attended to", "error", err, "pause", pause)
		s.update(func() {
			if s.live || s.failing() != hopeless(err) {
				s.since = time.Now()
			}
			s.live, s.reason = false, err
			s.attempts++
		})
		s.pause(pause)
	}
}

// shortPause is the pause between attempts while somebody waits for the source.
const shortPause = 500 * time.Millisecond

// pause waits before the next attempt.
func (s *Session) pause(pause time.Duration) {
	began := time.Now()
	for {
		left := pause
		if s.awaited() {
			left = min(pause, shortPause)
		}
		if left -= time.Since(began); left <= 0 {
			return
		}
		wait := time.NewTimer(left)
		select {
		case <-s.ctx.Done():
			wait.Stop()
			return
		case <-s.hurry:
		case <-wait.C:
		}
		wait.Stop()
	}
}

func sleep(ctx context.Context, pause time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(pause):
	}
}

// waitWanted waits until a table is wanted. Before, nothing is made at the source.
func (s *Session) waitWanted() {
	for s.ctx.Err() == nil {
		s.mu.Lock()
		wanted := len(s.entries)
		s.mu.Unlock()
		if wanted > 0 {
			return
		}
		select {
		case <-s.ctx.Done():
		case <-s.wake:
		}
	}
}

// attend connects, resumes or begins the stream, and applies it until something fails.
func (s *Session) attend(m *stream) error {
	ctx, cancel := context.WithCancelCause(s.ctx)
	defer cancel(nil)
	soon, over := context.WithTimeout(ctx, setupTime)
	facts, err := s.Facts(soon)
	over()
	if err != nil {
		return err
	}
	s.asker.setFacts(facts)
	conn, err := s.server.replication(ctx)
	if err != nil {
		return err
	}
	sl, err := s.prepare(ctx, m, conn)
	if err != nil {
		hangUp(conn)
		return err
	}
	f, err := openFeed(ctx, conn, sl, sl.start, s.options)
	if err != nil {
		hangUp(conn)
		return err
	}
	s.update(func() { s.live, s.since, s.reason = true, time.Now(), nil })
	err = s.serve(ctx, cancel, m, f, sl)
	if !Passing(err) {
		// The same stream would fail again.
		m.system = ""
	}
	return err
}

// prepare returns the slot and the position from which the stream goes on: that of the
// mirrors if a permanent slot and the same source still have it, else a new one, with which
// all mirrors load again.
func (s *Session) prepare(long context.Context, m *stream, conn *pgconn.PgConn) (slot, error) {
	ctx, over := context.WithTimeout(long, setupTime)
	defer over()
	system, err := pglogrepl.IdentifySystem(ctx, conn)
	if err != nil {
		return slot{}, translate("identifying the source", err)
	}
	lost := error(errLost)
	if name := s.options.Slot; name != "" {
		sl, found, err := s.server.existing(ctx, name)
		if err != nil {
			return slot{}, err
		}
		at := s.positions.at()
		switch {
		case !found:
			lost = errSlotLost.because("the slot %s is gone", name)
		case m.system != system.SystemID || m.timeline != system.Timeline || LSN(system.XLogPos) < at:
			lost = errElsewhere
		case sl.start <= at:
			sl.start = at
			s.log.Info("the stream goes on", "position", pglogrepl.LSN(at).String())
			m.main.resume()
			return sl, nil
		}
		if found {
			if err := s.server.dropSlot(ctx, name); err != nil {
				return slot{}, err
			}
		}
	}
	// The publication must be there before the slot: the source decodes each change with the
	// catalogue of the change's time.
	if _, _, err := s.server.publish(ctx, s.options.Publication, nil); err != nil {
		return slot{}, s.ofPublication(ctx, err)
	}
	name := s.options.Slot
	if name == "" {
		name = temporaryName("main")
	}
	sl, err := createSlot(long, conn, name, s.options.Slot == "", false, func() {
		s.update(func() {
			if !s.live {
				s.reason = errWaiting
			}
		})
	})
	if err != nil {
		return slot{}, err
	}
	m.system, m.timeline = system.SystemID, system.Timeline
	m.main.reset(lost)
	s.positions.reset(sl.start)
	return sl, nil
}

// ofPublication adds to the error that the publication cannot be made what its owner would
// have to execute.
func (s *Session) ofPublication(ctx context.Context, err error) error {
	if !errors.Is(err, errNoPublication) {
		return err
	}
	s.mu.Lock()
	var names []Name
	for n := range s.entries {
		names = append(names, n)
	}
	s.mu.Unlock()
	tables, failure := describe(ctx, s.server.pool, names)
	if failure != nil {
		return failure
	}
	return noPublication(s.options.Publication, tables).from(err)
}

// serve runs the stream's goroutines until one fails.
func (s *Session) serve(ctx context.Context, cancel context.CancelCauseFunc, m *stream, f *feed, sl slot) error {
	// However long the target takes, the source is rid of the stream at once.
	ended := make(chan struct{})
	context.AfterFunc(ctx, func() {
		defer close(ended)
		f.close()
		if errors.Is(context.Cause(ctx), errRetained) && s.options.Slot != "" {
			s.dropRetained(sl.name)
		}
	})
	done := make(chan struct{}, 2)
	go func() {
		defer func() { done <- struct{}{} }()
		if err := s.watch(ctx, m, sl); err != nil {
			cancel(err)
		}
	}()
	go func() {
		defer func() { done <- struct{}{} }()
		s.loadAll(ctx, m)
	}()
	err := m.main.apply(ctx, f, sl.start)
	cancel(err)
	<-done
	<-done
	<-ended
	m.main.drain()
	if err == nil {
		err = context.Cause(ctx)
	}
	if errors.Is(err, errNoPublication) {
		return errRepublished.because("%v", err)
	}
	return err
}

// dropRetained drops a permanent slot whose stream was just closed.
func (s *Session) dropRetained(name string) {
	for tries := 0; s.ctx.Err() == nil; tries++ {
		err := s.server.dropSlot(s.ctx, name)
		if err == nil {
			return
		}
		// The source's sender takes a moment to end.
		if !errors.Is(err, errSlotInUse) || tries == 100 {
			s.log.Warn("the slot could not be dropped", "slot", name, "error", err)
			return
		}
		sleep(s.ctx, 50*time.Millisecond)
	}
}
