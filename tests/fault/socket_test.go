package fault

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gpujoin/tests/harness"
	"gpujoin/tests/harness/point"
	"gpujoin/tests/harness/sqltest"
)

// alive puts a living daemon's status file next to a path, so that joins are
// planned for that path.
func alive(t *testing.T, w *world, path string) {
	t.Helper()
	if err := os.Link(w.Daemon.Socket+".status", path+".status"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Remove(path + ".status") })
}

// With a path that no daemon serves, joins run natively, with a reason.
func TestSocketPaths(t *testing.T) {
	w := theWorld(t)
	dir := w.Cluster.Sock
	for _, c := range []struct {
		name string
		make func(path string) error
	}{
		{"nothing", func(string) error { return nil }},
		{"a file", func(path string) error { return os.WriteFile(path, []byte("x"), 0o666) }},
		{"a directory", func(path string) error { return os.Mkdir(path, 0o777) }},
		{"a link to nothing", func(path string) error { return os.Symlink(filepath.Join(dir, "nowhere"), path) }},
		{"a link to itself", func(path string) error { return os.Symlink(path, path) }},
		{"a socket that nobody serves", func(path string) error {
			l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
			if err != nil {
				return err
			}
			l.SetUnlinkOnClose(false)
			return l.Close()
		}},
		{"a datagram socket", func(path string) error {
			c, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
			if err != nil {
				return err
			}
			t.Cleanup(func() { _ = c.Close() })
			return os.Chmod(path, 0o777)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			point.Point{What: c.name + " at the socket's path", Process: daemon, Moment: "before a query", Shape: "join, serial and parallel", Expect: point.AllRows}.Announce(t)
			path := filepath.Join(dir, "wrong")
			if err := c.make(path); err != nil {
				t.Fatal(err)
			}
			defer os.Remove(path)
			alive(t, w, path)
			fallsBack(t, w, path)
		})
	}
	t.Run("a long path", func(t *testing.T) {
		path := filepath.Join(dir, strings.Repeat("x", 120))
		alive(t, w, path)
		fallsBack(t, w, path)
	})
	w.unharmed(t, nil)
}

// fallsBack checks that joins which are planned for a socket run natively.
func fallsBack(t *testing.T, w *world, path string) {
	t.Helper()
	for _, workers := range []string{"0", "2"} {
		s := w.Session(t, forced, "set gpujoin.socket = '"+path+"'", "set max_parallel_workers_per_gather = "+workers)
		ctx, cancel := bounded()
		plan, err := s.Explain(ctx, "analyze, timing off", theSum)
		cancel()
		if err != nil {
			t.Fatal(err)
		}
		if joins := plan.OffloadJoins(); len(joins) != 1 || joins[0].Text("Fallback") == "" {
			t.Errorf("no OffloadJoin that fell back: %v", joins)
		}
		w.right(t, theSum, <-ask(s, theSum))
		released(t, s)
	}
}

// With paths that cannot have a status file, joins are not planned for a daemon.
func TestSocketSettings(t *testing.T) {
	w := theWorld(t)
	for _, path := range []string{"", "relative", "/", "/nonexistent/gpujoind", "/dev/null", strings.Repeat("/x", 2000), "/tmp/new\nline", `/tmp/quo"te`} {
		s := w.Session(t, forced, "set gpujoin.socket = '"+path+"'")
		ctx, cancel := bounded()
		plan, err := s.Explain(ctx, "", theSum)
		cancel()
		if err != nil || len(plan.OffloadJoins()) != 0 {
			t.Errorf("%.40q: %v, %v", path, err, plan.OffloadJoins())
		}
		w.right(t, theSum, <-ask(s, theSum))
	}
	// A user who may choose the socket could choose who receives the rows.
	plain, err := w.Cluster.ConnectAs(t.Context(), "plain", "postgres")
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	ended(t, plain.Exec(t.Context(), "set gpujoin.socket = '/tmp/mine'"), "42501")
	ended(t, plain.Exec(t.Context(), "select * from gpujoin.daemon_status()"), "42501")
	exec(t, plain, forced)
	w.right(t, theSum, <-ask(plain, theSum))
	w.unharmed(t, nil)
}

// Status files that are not of a living daemon of the server's user.
func TestStatusFiles(t *testing.T) {
	w := theWorld(t)
	good, err := os.ReadFile(w.Daemon.Socket + ".status")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(w.Cluster.Sock, "other")
	for name, content := range map[string][]byte{
		"copied, but not locked": good, "empty": nil, "cut": good[:len(good)-1], "zeros": make([]byte, len(good)),
	} {
		t.Run(name, func(t *testing.T) {
			point.Point{What: "status file: " + name, Process: daemon, Moment: "before a query", Shape: serialJoin, Expect: point.AllRows}.Announce(t)
			if err := os.WriteFile(path+".status", content, 0o600); err != nil {
				t.Fatal(err)
			}
			defer os.Remove(path + ".status")
			s := w.Session(t, forced, "set gpujoin.socket = '"+path+"'")
			ctx, cancel := bounded()
			defer cancel()
			plan, err := s.Explain(ctx, "", theSum)
			if err != nil || len(plan.OffloadJoins()) != 0 {
				t.Errorf("%v, %v", err, plan.OffloadJoins())
			}
			w.right(t, theSum, <-ask(s, theSum))
		})
	}
	w.unharmed(t, nil)
}

// Another user than the server's gets no rows, even if that user was first to
// create the path.
func TestDaemonOfAnotherUser(t *testing.T) {
	point.Point{What: "another user's", Process: daemon, Moment: "before a query", Shape: "join, serial and parallel", Expect: "no word is said to it; " + point.AllRows}.Announce(t)
	w := theWorld(t)
	if !sqltest.Env.Account.Switched {
		t.Skip("needs to be root, to be another user than the server's")
	}
	path := filepath.Join(w.Cluster.Sock, "foreign")
	stop, err := w.Proxy.ListenAsSelf(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := stop(); err != nil {
			t.Error(err)
		}
	}()
	said := 0
	w.Proxy.Rewrite(func(f *harness.Frame) ([]*harness.Frame, bool) {
		said++
		return []*harness.Frame{f}, true
	})
	fallsBack(t, w, path)
	w.Proxy.Rewrite(nil)
	if said != 0 {
		t.Errorf("a backend said %d frames to another user's daemon", said)
	}
	w.unharmed(t, nil)
}
