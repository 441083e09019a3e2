package sidecar

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"gpujoin/shm"
	"gpujoin/testsupport/backend"
	"gpujoin/version"

	"golang.org/x/sys/unix"
)

// TestSocketPath offers paths that a socket must not have, and such that it
// may take over.
func TestSocketPath(t *testing.T) {
	dir := testDir(t)
	other := filepath.Join(dir, "other")
	must(t, os.WriteFile(other, nil, 0o600))
	open := filepath.Join(dir, "open")
	must(t, os.Mkdir(open, 0o700))
	must(t, os.Chmod(open, 0o777))
	link := func(name, target string) string {
		must(t, os.Symlink(target, filepath.Join(dir, name)))
		return filepath.Join(dir, name)
	}
	for name, c := range map[string]struct {
		path string
		want string
	}{
		"relative":             {"s", "not absolute"},
		"108 bytes":            {"/" + strings.Repeat("x", 107), "the maximum is 107"},
		"no directory":         {filepath.Join(dir, "none", "s"), "no such file"},
		"directory is a file":  {filepath.Join(other, "s"), "not a directory"},
		"directory is open":    {filepath.Join(open, "s"), "other users can write"},
		"regular file":         {other, "is not a socket"},
		"symbolic link":        {link("link", other), "is not a socket"},
		"dangling link":        {link("dangling", filepath.Join(dir, "nowhere")), "is not a socket"},
		"directory of its own": {open, "is not a socket"},
	} {
		err := serveAt(t, c.path)
		if !errors.Is(err, ErrSocketPath) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := os.Lstat(filepath.Join(dir, "nowhere")); err == nil {
		t.Error("a dangling link was followed")
	}
}

// serveAt takes a path and gives it up again.
func serveAt(t *testing.T, path string) error {
	t.Helper()
	claim, err := ClaimSocket(path)
	if err != nil {
		return err
	}
	defer claim.Release()
	s, err := listen(claim)
	if err == nil {
		s.stop()
	}
	return err
}

func testDir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	must(t, os.Chmod(dir, 0o700))
	return dir
}

// TestSocketTaken starts a second daemon on a path that is served, on one
// whose daemon was killed, and on one that was removed while it served.
func TestSocketTaken(t *testing.T) {
	r := start(t, nil, nil)
	second := r.srv.options
	second.Claim = nil
	if _, err := Start(second, testBackend(nil)); !errors.Is(err, ErrSocketTaken) {
		t.Errorf("a second daemon: %v", err)
	}
	st, err := os.Stat(r.path)
	must(t, err)
	if st.Mode().Perm() != 0o600 {
		t.Errorf("the socket has mode %v", st.Mode())
	}
	kept := r.dial(1)
	must(t, os.Remove(r.path))
	must(t, os.Remove(r.path+".status"))
	if _, err := Start(second, testBackend(nil)); !errors.Is(err, ErrSocketTaken) {
		t.Errorf("a second daemon where the socket was removed: %v", err)
	}
	r.eventually("the socket is back", func() (bool, string) {
		_, err := os.Lstat(r.path + ".status")
		if err == nil {
			_, err = os.Lstat(r.path)
		}
		return err == nil, fmt.Sprint(err)
	})
	for _, c := range []*backend.Conn{kept, r.dial(2)} {
		if _, err := c.Status(); err != nil {
			t.Error(err)
		}
	}
	st, err = os.Stat(r.path)
	must(t, err)
	if st.Mode().Perm() != 0o600 {
		t.Errorf("the new socket has mode %v", st.Mode())
	}

	o := testOptions(t)
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: o.Socket, Net: "unix"})
	must(t, err)
	l.SetUnlinkOnClose(false)
	l.Close() // as kill -9 leaves it
	srv, err := Start(o, testBackend(nil))
	must(t, err)
	must(t, srv.Stop(context.Background()))
	for _, name := range []string{o.Socket, o.Socket + ".status"} {
		if _, err := os.Lstat(name); err == nil {
			t.Errorf("%s is still there", name)
		}
	}
}

// TestStatusFile looks at the file as a backend does.
func TestStatusFile(t *testing.T) {
	o := testOptions(t)
	srv, err := Start(o, testBackend(nil))
	must(t, err)
	f, err := os.Open(o.Socket + ".status")
	must(t, err)
	defer f.Close()
	locked := func() bool {
		lock := unix.Flock_t{Type: unix.F_RDLCK}
		must(t, unix.FcntlFlock(f.Fd(), unix.F_OFD_GETLK, &lock))
		return lock.Type == unix.F_WRLCK
	}
	read := func() shm.Status {
		b := make([]byte, 1000)
		n, err := f.ReadAt(b, 0)
		if n == 0 {
			t.Fatal(err)
		}
		s, err := shm.DecodeStatus(b[:n])
		must(t, err)
		return s
	}
	s := read()
	if !locked() || s.Stopping != 0 || s.PID != int32(os.Getpid()) || s.Budget != uint64(o.MemoryBudget) || s.Processors != uint32(o.Processors) ||
		s.BuildNS != o.Rates.Now().BuildNS || shm.Text(s.DaemonVersion[:]) != version.Text {
		t.Errorf("locked %v, %+v", locked(), s)
	}
	if !s.Load.Whole() || s.Load.Beats == 0 {
		t.Errorf("load %+v", s.Load)
	}
	before := s.Load.Beats
	for deadline := time.Now().Add(20 * time.Second); s.Load.Beats == before; s = read() {
		if time.Now().After(deadline) {
			t.Fatal("the load does not change")
		}
		time.Sleep(time.Millisecond)
	}
	st, err := f.Stat()
	must(t, err)
	if st.Mode().Perm()&0o022 != 0 {
		t.Errorf("mode %v", st.Mode())
	}
	must(t, srv.Stop(context.Background()))
	if locked() || read().Stopping != 1 {
		t.Errorf("after the stop: locked %v, %+v", locked(), read())
	}
}

// TestStrangerRejected plays a peer of another user.
func TestStrangerRejected(t *testing.T) {
	r := start(t, func(o *Options) {
		o.peerOf = func(*net.UnixConn) (credentials, error) { return credentials{pid: 1, uid: 4243}, nil }
	}, nil)
	c, err := net.Dial("unix", r.path)
	must(t, err)
	defer c.Close()
	must(t, c.SetReadDeadline(time.Now().Add(10*time.Second)))
	if n, err := c.Read(make([]byte, 10)); n != 0 || err == nil {
		t.Errorf("%d bytes, %v", n, err)
	}
	r.eventually("the rejection is counted", func() (bool, string) {
		return r.srv.counters.now().RejectedPeers == 1, ""
	})
	for uid, want := range map[uint32]bool{0: true, uint32(os.Geteuid()): true, 4242: false} {
		if allowed(uid) != want {
			t.Errorf("uid %d allowed: %v", uid, !want)
		}
	}
}

// TestDescriptorsLack: who connects when no descriptor is left learns why it is refused.
// The clients have their descriptors before, so that they take none that the daemon, in
// the same process, has given up for one of them.
func TestDescriptorsLack(t *testing.T) {
	r := start(t, nil, nil)
	var clients []*os.File
	for range 10 {
		fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		must(t, err)
		clients = append(clients, os.NewFile(uintptr(fd), "client"))
		defer clients[len(clients)-1].Close()
	}
	giveBack := takeDescriptors(t, 3)
	defer giveBack()
	refused := func() bool { return r.srv.counters.now().Refused > 0 }
	last := -1
	for !refused() && last < len(clients)-1 {
		last++
		must(t, unix.Connect(int(clients[last].Fd()), &unix.SockaddrUnix{Name: r.path}))
		r.eventually("the connection is accepted or refused", func() (bool, string) {
			r.srv.mu.Lock()
			defer r.srv.mu.Unlock()
			return len(r.srv.sessions) == last+1 || refused(), ""
		})
	}
	giveBack()
	c, err := net.FileConn(clients[last])
	must(t, err)
	defer c.Close()
	conn, err := shm.NewConn(c.(*net.UnixConn), false)
	must(t, err)
	_, body, _, err := conn.Read()
	must(t, err)
	if code, text, err := shm.DecodeFailed(body); err != nil || code != shm.FailResources {
		t.Errorf("%v: %s, %v", code, text, err)
	}
	if got := r.srv.counters.now().Reasons; got["resources"] != 1 {
		t.Errorf("%v", got)
	}
}

// takeDescriptors takes all descriptors of the process but a number of them, and returns
// a function that gives them back, which may be called twice.
func takeDescriptors(t *testing.T, left int) (giveBack func()) {
	t.Helper()
	var limit unix.Rlimit
	must(t, unix.Getrlimit(unix.RLIMIT_NOFILE, &limit))
	low := limit
	low.Cur = uint64(len(openFDs(t)) + 16)
	must(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &low))
	var taken []*os.File
	for f, err := os.Open(os.DevNull); err == nil; f, err = os.Open(os.DevNull) {
		taken = append(taken, f)
	}
	for range left {
		taken[len(taken)-1].Close()
		taken = taken[:len(taken)-1]
	}
	return sync.OnceFunc(func() {
		for _, f := range taken {
			f.Close()
		}
		must(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &limit))
	})
}

// TestDescriptorsExhausted lets accept run out of descriptors. The daemon
// survives and serves again afterwards.
func TestDescriptorsExhausted(t *testing.T) {
	r := start(t, nil, nil)
	kept := r.dial(1)
	var old unix.Rlimit
	must(t, unix.Getrlimit(unix.RLIMIT_NOFILE, &old))
	low := old
	low.Cur = uint64(len(openFDs(t)) + 12)
	must(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &low))
	var conns []net.Conn
	failed := 0
	for range 60 {
		c, err := net.Dial("unix", r.path)
		if err != nil {
			failed++
			continue
		}
		conns = append(conns, c)
	}
	if _, err := kept.Status(); err != nil {
		t.Error(err)
	}
	for _, c := range conns {
		c.Close()
	}
	must(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &old))
	if failed == 0 {
		t.Error("the descriptors were not exhausted")
	}
	r.eventually("the daemon accepts again", func() (bool, string) {
		c, err := net.Dial("unix", r.path)
		if err == nil {
			c.Close()
		}
		return err == nil, fmt.Sprint(err)
	})
	must(t, func() error { _, err := r.dial(2).Status(); return err }())
}

func openFDs(t *testing.T) []os.DirEntry {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	must(t, err)
	return list
}

// TestConnectionLimit refuses politely.
func TestConnectionLimit(t *testing.T) {
	r := start(t, func(o *Options) { o.Connections = 2 }, nil)
	a, b := r.dial(1), r.dial(2)
	c, err := net.Dial("unix", r.path)
	must(t, err)
	defer c.Close()
	must(t, c.SetReadDeadline(time.Now().Add(10*time.Second)))
	buf := make([]byte, 200)
	n, err := c.Read(buf)
	must(t, err)
	if text, err := shm.DescribeFrame(buf[:n]); err != nil || !strings.Contains(text, "busy") {
		t.Errorf("%q, %v", text, err)
	}
	a.Close()
	r.eventually("there is room again", func() (bool, string) {
		r.srv.mu.Lock()
		defer r.srv.mu.Unlock()
		return len(r.srv.sessions) == 1, ""
	})
	must(t, func() error { _, err := r.dial(3).Status(); return err }())
	b.Close()
}
