package fault

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"gpujoin/tests/harness"
	"gpujoin/tests/harness/point"
	"gpujoin/tests/harness/sqltest"
)

// limited sets limits of a process, which its own user may do; root may lack the capability.
func limited(t *testing.T, w *world, pid int, limits ...string) {
	t.Helper()
	args := append([]string{"--pid", fmt.Sprint(pid)}, limits...)
	if out, err := sqltest.Env.Account.Command(w.Cluster.Dir, "prlimit", args...).CombinedOutput(); err != nil {
		t.Fatalf("prlimit: %v: %s", err, out)
	}
}

// A backend that may open few more files, or none, still answers: it has no room for the
// daemon's extents, or little.
func TestBackendWithoutDescriptors(t *testing.T) {
	w := theWorld(t)
	for _, shape := range []struct{ name, settings, sql string }{
		{serialJoin, serial, theJoin},
		{serialBlock, blocks + ";" + serial, theBlock},
	} {
		for _, left := range []int{0, 1, 2, 4, 8} {
			t.Run(fmt.Sprintf("%s, %d left", shape.name, left), func(t *testing.T) {
				point.Point{What: fmt.Sprintf("%d descriptors left", left), Process: oneBackend, Moment: "before a query", Shape: shape.name, Expect: point.AllRows}.Announce(t)
				s := w.proxied(t, shape.settings)
				w.right(t, shape.sql, <-ask(s, shape.sql)) // opens the tables' files
				h, err := harness.HoldingsOf(s.PID())
				if err != nil {
					t.Fatal(err)
				}
				limited(t, w, s.PID(), fmt.Sprintf("--nofile=%d:", h.FDs+left))
				w.right(t, shape.sql, <-ask(s, shape.sql))
				released(t, s)
				w.unharmed(t, s)
			})
		}
	}
}

// A daemon that may make no file larger, or no mapping, costs the offload and no query.
func TestDaemonWithLimits(t *testing.T) {
	w := theWorld(t)
	for _, c := range []struct {
		name, limit string
		survives    bool
	}{
		{"files of at most 64 kB", "--fsize=65536:", true},
		{"no more address space", "--as=16777216:", false}, // Go's runtime may need some
	} {
		t.Run(c.name, func(t *testing.T) {
			point.Point{What: c.name, Process: daemon, Moment: "before a query", Shape: "joins", Expect: point.AllRows}.Announce(t)
			d, err := w.Cluster.StartDaemonAt(w.Cluster.Sock+"/limited", sqltest.DaemonOptions(harness.DaemonOptions{"memory-warm": "0"}))
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = d.Stop() }() // without memory it may have ended
			s := w.Session(t, forced, serial, "set gpujoin.socket = '"+d.Socket+"'")
			limited(t, w, d.PID(), c.limit)
			for range 3 {
				w.right(t, theJoin, soon(t, ask(s, theJoin)))
				w.right(t, theSum, soon(t, ask(s, theSum)))
			}
			if c.survives && d.Exited() {
				t.Errorf("the daemon has ended:\n%s", d.LogTail(20))
			}
			released(t, s)
			w.unharmed(t, s)
		})
	}
}

// A daemon whose directory is full does not start and says why; queries run natively. With
// space again it starts.
func TestFullDirectory(t *testing.T) {
	point.Point{What: "no space for its socket and its status", Process: daemon, Moment: "its start", Shape: serialJoin, Expect: "it says so; " + point.AllRows}.Announce(t)
	w := theWorld(t)
	dir := filepath.Join(w.Cluster.Sock, "full")
	if err := sqltest.Env.Account.Mkdir(dir); err != nil {
		t.Fatal(err)
	}
	defer os.Remove(dir)
	mode := fmt.Sprintf("size=64k,mode=0700,uid=%d,gid=%d", sqltest.Env.Account.UID, sqltest.Env.Account.GID)
	if err := syscall.Mount("gpujoin-test", dir, "tmpfs", 0, mode); err != nil {
		t.Skipf("mounting a small file system needs root with CAP_SYS_ADMIN: %v", err)
	}
	defer func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	}()
	filler := filepath.Join(dir, "filler")
	if err := os.WriteFile(filler, make([]byte, 1<<20), 0o600); !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("the file system is not full: %v", err)
	}
	socket := filepath.Join(dir, "gpujoind")
	options := sqltest.DaemonOptions(nil)
	if d, err := w.Cluster.StartDaemonAt(socket, options); err == nil {
		t.Error("the daemon starts without space", d.Stop())
	} else if !strings.Contains(err.Error(), "no space left on device") {
		t.Errorf("the reason is missing: %v", err)
	}
	s := w.Session(t, forced, serial, "set gpujoin.socket = '"+socket+"'")
	w.right(t, theJoin, <-ask(s, theJoin))
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	d, err := w.Cluster.StartDaemonAt(socket, options)
	if err != nil {
		t.Fatal(err)
	}
	if text := fallbackOf(t, s, theSum); text != "" {
		t.Errorf("with space again: Fallback %q", text)
	}
	_ = s.Close() // it has the daemon's status file open
	if err := d.Stop(); err != nil {
		t.Error(err)
	}
	w.unharmed(t, nil)
}
