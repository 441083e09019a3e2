package fault

import (
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"gpujoin/shm"
	"gpujoin/tests/harness"
	"gpujoin/tests/harness/sqltest"
)

// pulse simulates the daemon's heartbeat: a status file as the daemon writes
// it, with a load that the test sets.
type pulse struct {
	every time.Duration // between two beats
	share uint32
	busy  bool          // a thread is ready to run all the time
	age   time.Duration // of a beat when it is written
	edit  func(*shm.Status)
}

func (p pulse) play(t *testing.T, w *world, socket string) {
	t.Helper()
	path := socket + ".status"
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Chown(sqltest.Env.Account.UID, sqltest.Env.Account.GID); err != nil {
		t.Fatal(err)
	}
	if err := unix.FcntlFlock(f.Fd(), unix.F_OFD_SETLK, &unix.Flock_t{Type: unix.F_WRLCK}); err != nil {
		t.Fatal(err)
	}
	stop := make(chan struct{})
	var stopped atomic.Bool
	var done sync.WaitGroup
	if p.edit != nil {
		s, err := shm.DecodeStatus(content)
		if err != nil {
			t.Fatal(err)
		}
		p.edit(&s)
		content = shm.Append(nil, &s)
	}
	load := shm.Load{Threads: 2, ProcessorShare: p.share}
	beat := func() {
		load.Beats++
		var now unix.Timespec
		if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
			t.Error(err)
		}
		load.AtUS = uint64((time.Duration(now.Nano()) - p.age) / time.Microsecond)
		sealed := load.Seal()
		at := int(shm.LoadOffset())
		copy(content[at:], shm.Append(nil, &sealed))
		if _, err := f.WriteAt(content, 0); err != nil {
			t.Error(err)
		}
	}
	beat()
	done.Go(func() {
		tick := time.NewTicker(p.every)
		defer tick.Stop()
		for {
			select {
			case <-stop:
				return
			case <-tick.C:
				beat()
			}
		}
	})
	if p.busy { // the proxy, which backends take for the daemon, is this process
		done.Go(func() {
			for !stopped.Load() {
			}
		})
	}
	t.Cleanup(func() {
		close(stop)
		stopped.Store(true)
		done.Wait()
		_ = f.Close()
		_ = os.Remove(path)
		if err := os.Link(w.Daemon.Socket+".status", path); err != nil {
			t.Error(err)
		}
	})
}

// fallback returns the reason why a join did not run in the daemon, or "".
func fallback(t *testing.T, s *harness.Session, sql string) string {
	ctx, cancel := bounded()
	defer cancel()
	plan, err := s.Explain(ctx, "analyze, timing off", sql)
	if err != nil {
		t.Error(err)
		return ""
	}
	joins := plan.OffloadJoins()
	if len(joins) != 1 {
		t.Errorf("%d joins of ours", len(joins))
		return ""
	}
	return joins[0].Text("Fallback")
}

// A backend waits for a daemon that gets no processor time, up to a limit, but
// not for one that gets it; the reason says which it was.
func TestStarvedIsNotStuck(t *testing.T) {
	w := theWorld(t)
	for _, c := range []struct {
		name   string
		pulse  pulse
		held   time.Duration // WELCOME; 0: until the end
		reason string
	}{
		{"a small share of the processors", pulse{every: 25 * time.Millisecond, share: 100}, 1500 * time.Millisecond, ""},
		{"late beats", pulse{every: 300 * time.Millisecond, share: 1000}, 1500 * time.Millisecond, ""},
		{"no beat, but threads that are ready to run", pulse{every: time.Hour, share: 1000, busy: true}, 1500 * time.Millisecond, ""},
		{"no beat, and all threads asleep", pulse{every: time.Hour, share: 1000}, 0, "the daemon does not answer, although it has processor time"},
		{"a small share for ever", pulse{every: 25 * time.Millisecond, share: 100}, 0, "the daemon gets too little processor time to answer"},
		{"healthy beats", pulse{every: 10 * time.Millisecond, share: 1000}, 0, "the daemon does not answer, although it has processor time"},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.pulse.play(t, w, w.Proxy.Socket)
			s := w.proxied(t, serial, "set gpujoin.connect_timeout = '100ms'")
			h := w.Proxy.HoldAll(harness.MsgWelcome, 1)
			defer h.Release()
			done := make(chan string, 1)
			go func() { done <- fallback(t, s, theJoin) }()
			<-h.Reached
			if c.held > 0 {
				time.Sleep(c.held)
				h.Release()
			}
			if reason := <-done; !strings.Contains(reason, c.reason) || c.reason == "" && reason != "" {
				t.Errorf("fallback %q, and not %q", reason, c.reason)
			}
			h.Release()
			w.unharmed(t, s)
		})
	}
}

// The wait for a starved daemon ends with the statement's own limit.
func TestStarvedAndTimeout(t *testing.T) {
	w := theWorld(t)
	pulse{every: 25 * time.Millisecond, share: 100}.play(t, w, w.Proxy.Socket)
	s := w.proxied(t, serial, "set gpujoin.connect_timeout = '10s'; set statement_timeout = '500ms'")
	h := w.Proxy.HoldAll(harness.MsgWelcome, 1)
	defer h.Release()
	done := ask(s, theJoin)
	reached(t, h, done)
	ended(t, soon(t, done).err, "57014")
	h.Release()
	exec(t, s, "reset statement_timeout")
	w.unharmed(t, s)
}

// A stopped daemon is detected whatever its beats say.
func TestStoppedIsNamed(t *testing.T) {
	w := theWorld(t)
	s := w.Session(t, forced, serial, "set gpujoin.connect_timeout = '100ms'")
	goOn := w.stopped(t)
	if reason := fallback(t, s, theJoin); !strings.Contains(reason, "its process is stopped") {
		t.Errorf("fallback %q", reason)
	}
	goOn()
	w.unharmed(t, s)
}
