package sidecar

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"runtime/debug"
	"sync"
	"time"

	"gpujoin/shm"
	"gpujoin/sidecar/foreign"
	"gpujoin/sidecar/memory"
	"gpujoin/version"

	"golang.org/x/sys/unix"
)

// phase determines which frames a session may send.
type phase int

const (
	phaseNew     phase = iota // only HELLO
	phaseWelcome              // OPEN, ATTACH, STATUS_GET, STATUS_RESET, FORGET or SOURCE_GET
	phaseOpening              // PAGES: OPEN waits for admission
	phaseJob                  // frames of a job
	phaseFailed               // FAILED was sent: only STATS_GET is answered
)

// session is one connection.
type session struct {
	srv  *Server
	id   uint64
	conn *shm.Conn
	out  *outbox
	log  *slog.Logger
	peer credentials

	ctx    context.Context // ends with the connection
	cancel context.CancelFunc
	aside  sync.WaitGroup // admission and requests on foreign servers, which run outside the read loop

	hello shm.Hello

	order sync.Mutex // held while PAGES are answered, in their order, or put aside; taken before job.mu
	early [][]byte   // PAGES that came before ADMITTED
	bytes int        // of these

	mu        sync.Mutex
	phase     phase
	member    *participant // nil without a job
	unlimited bool         // the socket has no read deadline
	asking    bool         // a request on a foreign server is being answered

	pins foreign.Owner
}

func (s *session) serve() {
	defer s.close()
	defer func() {
		if p := recover(); p != nil {
			s.log.Error("session panicked", "panic", p, "stack", string(debug.Stack()))
			s.refuse(failf(shm.FailInternal, "internal error of the daemon"))
		}
	}()
	for {
		f, body, fds, err := s.conn.Read()
		shm.CloseFDs(fds) // a daemon's connection returns none, but never leak one
		if err != nil {
			s.readFailed(err)
			return
		}
		if tr := s.srv.trace; tr != nil {
			tr.record(s.id, false, shm.Append(nil, &f), recorded(f.Type, body))
		}
		s.throttle()
		err = s.handle(f.Type, body)
		if err == nil {
			err = s.limitIdle()
		}
		if err != nil {
			s.reject(f.Type, toFailure(err))
			return
		}
	}
}

// readFailed ends a session after a failed read.
func (s *session) readFailed(err error) {
	// A peer may hang up at any time: also with unread answers, which resets the
	// connection, or in the middle of a frame, if it was killed.
	if errors.Is(err, io.EOF) || errors.Is(err, net.ErrClosed) || errors.Is(err, unix.ECONNRESET) ||
		errors.Is(err, io.ErrUnexpectedEOF) {
		return
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		if ph, _ := s.current(); ph != phaseNew {
			timeout := s.srv.settings().IdleTimeout
			s.log.Info("idle connection closed", "timeout", timeout)
			s.refuse(failf(shm.FailProtocol, "the connection had no job for %v", timeout))
			return
		}
		err = errors.New("HELLO did not arrive in time")
	}
	s.srv.counters.count(func(t *totals) { t.Violations++ })
	s.log.Warn("connection failed", "error", err)
	s.refuse(failf(shm.FailProtocol, "%v", err))
}

// reject ends a session whose peer sent a frame that violates the protocol or
// asks for something that this daemon does not support.
func (s *session) reject(m shm.Message, f *failure) {
	if f.code == shm.FailProtocol {
		s.srv.counters.count(func(t *totals) { t.Violations++ })
		s.log.Warn("protocol violation", "message", m.String(), "error", f)
	} else {
		s.srv.counters.refuse(f)
		s.log.Info("refused", "message", m.String(), "error", f)
	}
	s.refuse(f)
}

// refuse sends FAILED, at most once, and gives the peer a second to read it.
func (s *session) refuse(f *failure) {
	s.fail(f)
	s.out.flush(time.Second) // the connection is closed either way
}

// fail sends FAILED, at most once.
func (s *session) fail(f *failure) {
	s.mu.Lock()
	failed := s.phase == phaseFailed
	s.phase = phaseFailed
	s.mu.Unlock()
	_ = s.limitIdle() // fails only if the connection is closed
	if !failed {
		s.out.send(shm.AppendFailed(nil, f.code, f.sqlstate, f.text))
	}
}

// close ends the session and leaves its job.
func (s *session) close() {
	s.cancel()
	_ = s.conn.Close() // the session has ended; an error changes nothing
	s.out.close()
	s.aside.Wait()
	s.pins.Close()
	s.mu.Lock()
	p := s.member
	s.mu.Unlock()
	if p != nil {
		p.job.leave(p)
	}
	s.srv.forget(s)
}

// current returns the phase and the participant that the session is, nil if it
// has no job.
func (s *session) current() (phase, *participant) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.phase, s.member
}

// handle processes one frame. An error ends the session.
func (s *session) handle(m shm.Message, body []byte) error {
	ph, p := s.current()
	switch {
	case ph == phaseNew:
		if m != shm.MsgHello {
			return violation("%s arrived before HELLO", m)
		}
		return s.handleHello(body)
	case ph == phaseWelcome:
		switch m {
		case shm.MsgOpen:
			return s.handleOpen(body)
		case shm.MsgAttach:
			return s.handleAttach(body)
		case shm.MsgStatusGet:
			s.out.send(statusFrame(s.srv))
			return nil
		case shm.MsgStatusReset:
			s.srv.resetCounts()
			s.log.Info("counters reset")
			s.out.send(statusFrame(s.srv))
			return nil
		case shm.MsgForget:
			return s.forget(body)
		case shm.MsgSourceGet:
			return s.sourceGet(body)
		}
		return violation("%s arrived without a job", m)
	case m == shm.MsgPages:
		return s.pages(body)
	case ph == phaseOpening:
		return violation("%s arrived before ADMITTED", m)
	case ph == phaseFailed:
		// The peer may not have read FAILED yet. Extents that it gives back are
		// still accepted.
		switch {
		case p == nil:
			return nil
		case m == shm.MsgRelease, m == shm.MsgFilled, m == shm.MsgChainFilled, m == shm.MsgCaptured, m == shm.MsgStatsGet:
			return p.job.handle(p, m, body)
		}
		return nil
	}
	return p.job.handle(p, m, body)
}

func (s *session) handleHello(body []byte) error {
	h, err := shm.Decode[shm.Hello](body)
	if err != nil {
		return err
	}
	if h.ProtocolVersion != shm.ProtocolVersion || h.LayoutVersion != shm.LayoutVersion {
		return failf(shm.FailVersion, "the daemon has protocol %d and layout %d, the extension has %d and %d; install the same version of both",
			shm.ProtocolVersion, shm.LayoutVersion, h.ProtocolVersion, h.LayoutVersion)
	}
	s.hello = h
	s.mu.Lock()
	s.phase = phaseWelcome
	s.mu.Unlock()
	w := shm.Welcome{
		ProtocolVersion: shm.ProtocolVersion, LayoutVersion: shm.LayoutVersion,
		ExtentSize: uint64(s.srv.store.ExtentSize()), PID: int32(os.Getpid()),
	}
	shm.PutText(w.Version[:], version.Text)
	s.out.send(shm.AppendFrame(nil, shm.MsgWelcome, 0, &w))
	return nil
}

// limitIdle sets the deadline for the next frame. Only sessions have one that
// have no job, admitted or waiting, no position of a foreign server, and no
// request on one: a participant of a job may be silent for as long as its query
// needs no row.
func (s *session) limitIdle() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	limit := s.srv.settings().IdleTimeout
	switch {
	case s.phase == phaseNew, s.member != nil && s.unlimited:
		return nil
	case s.member != nil, s.phase == phaseOpening, limit == 0, s.asking, s.pins.Holds():
		s.unlimited = true
		return s.conn.Sock().SetReadDeadline(time.Time{})
	}
	s.unlimited = false
	return s.conn.Sock().SetReadDeadline(time.Now().Add(limit))
}

// throttle waits while the outbox is above its soft limit. A session without a
// job is closed if that takes longer than the idle timeout.
func (s *session) throttle() {
	timeout := s.srv.settings().IdleTimeout
	if _, p := s.current(); p == nil && timeout > 0 {
		defer time.AfterFunc(timeout, s.out.stop).Stop()
	}
	s.out.throttle()
}

// present reports whether the peer is still connected, also while its end of
// file is unread.
func (s *session) present() bool {
	hup, err := s.conn.HungUp()
	return err == nil && !hup
}

// group returns the processes that admission treats as one backend: if one of
// them holds a job, another one's job does not wait for memory.
func (s *session) group() memory.Group {
	return memory.Group{s.peer.leader(s.hello.LeaderPID), s.peer.pid}
}
