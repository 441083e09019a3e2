package sidecar

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"gpujoin/shm"

	"golang.org/x/sys/unix"
)

// Errors of claiming a socket path.
var (
	ErrSocketPath  = errors.New("unusable socket path")
	ErrSocketTaken = errors.New("another daemon serves this socket")
)

// maxSocketPath is the maximum length of a path in sockaddr_un, without the
// NUL.
const maxSocketPath = 107

// CheckSocket returns an error unless path can hold a socket that only its
// owner can replace.
func CheckSocket(path string) error {
	switch {
	case !filepath.IsAbs(path):
		return fmt.Errorf("%w: %q is not absolute", ErrSocketPath, path)
	case len(path) > maxSocketPath:
		return fmt.Errorf("%w: %q has %d bytes; the maximum is %d", ErrSocketPath, path, len(path), maxSocketPath)
	}
	dir := filepath.Dir(path)
	var st unix.Stat_t
	if err := unix.Stat(dir, &st); err != nil {
		return fmt.Errorf("%w: directory %q: %w", ErrSocketPath, dir, err)
	}
	switch owner := st.Uid; {
	case st.Mode&unix.S_IFMT != unix.S_IFDIR:
		return fmt.Errorf("%w: %q is not a directory", ErrSocketPath, dir)
	case owner != uint32(os.Geteuid()) && owner != 0:
		return fmt.Errorf("%w: directory %q belongs to user %d", ErrSocketPath, dir, owner)
	case st.Mode&0o022 != 0 && st.Mode&unix.S_ISVTX == 0:
		return fmt.Errorf("%w: other users can write to directory %q (mode %04o); use mode 0700 or 0750", ErrSocketPath, dir, st.Mode&0o7777)
	}
	return nil
}

// socket is the path that this daemon serves, with the claim on it and its
// listener.
type socket struct {
	path  string
	claim *Claim

	mu       sync.Mutex
	listener *net.UnixListener
	file     os.FileInfo // identity of the file at path
	closed   bool
}

// umask serialises changes of the umask, which is process-wide.
var umask sync.Mutex

// listen opens a listener at the claimed path.
func listen(claim *Claim) (*socket, error) {
	s := &socket{path: claim.path, claim: claim}
	return s, s.bind()
}

func (s *socket) current() (*net.UnixListener, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.listener, s.closed
}

// accept waits for a connection. It continues when the listener is replaced.
func (s *socket) accept() (*net.UnixConn, error) {
	for {
		l, _ := s.current()
		c, err := l.AcceptUnix()
		if errors.Is(err, net.ErrClosed) {
			if now, closed := s.current(); !closed && now != l {
				continue
			}
		}
		return c, err
	}
}

// restore recreates the lock file, and listens again if the path no longer
// leads to this socket, for example because a cleanup job deleted the files.
// Connections are kept. It fails if another daemon serves the path by now.
func (s *socket) restore() (restored bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false, nil
	}
	if err := s.claim.restore(); err != nil {
		return false, err
	}
	if s.placed() {
		return false, nil
	}
	old := s.listener
	if err := s.bind(); err != nil {
		return false, err
	}
	old.Close()
	return true, nil
}

// placed reports whether the path leads to this socket.
func (s *socket) placed() bool {
	file, err := os.Lstat(s.path)
	return err == nil && os.SameFile(file, s.file)
}

// bind listens at the path. It replaces a socket without a listener, which a dead
// daemon has left.
func (s *socket) bind() error {
	switch st, err := os.Lstat(s.path); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return fmt.Errorf("%w: %w", ErrSocketPath, err)
	case st.Mode().Type() != fs.ModeSocket:
		return fmt.Errorf("%w: %q exists and is not a socket", ErrSocketPath, s.path)
	default:
		if err := listening(s.path); err != nil {
			return err
		}
		if err := os.Remove(s.path); err != nil {
			return fmt.Errorf("%w: %w", ErrSocketPath, err)
		}
	}
	umask.Lock()
	old := unix.Umask(0o177)
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: s.path, Net: "unix"})
	unix.Umask(old)
	umask.Unlock()
	if err != nil {
		return fmt.Errorf("could not listen: %w", err)
	}
	l.SetUnlinkOnClose(false) // stop deletes the file while the lock is held
	file, err := os.Lstat(s.path)
	if err != nil {
		l.Close()
		return fmt.Errorf("%w: %w", ErrSocketPath, err)
	}
	s.listener, s.file = l, file
	return nil
}

// errLocked reports that another open file description holds the lock.
var errLocked = errors.New("the file is locked")

// openLocked opens path and takes a write lock on its open file description.
// The kernel releases the lock when the process ends. It returns errLocked if
// another process holds the lock.
func openLocked(path string, flags int) (*os.File, error) {
	f, err := os.OpenFile(path, flags|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, err
	}
	if err := lockFile(f); err != nil {
		f.Close()
		if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EACCES) {
			return nil, fmt.Errorf("%w: %q", errLocked, path)
		}
		return nil, fmt.Errorf("could not lock %q: %w", path, err)
	}
	return f, nil
}

func lockFile(f *os.File) error {
	return unix.FcntlFlock(f.Fd(), unix.F_OFD_SETLK, &unix.Flock_t{Type: unix.F_WRLCK, Whence: 0})
}

// stop deletes the socket's file and ends accept. Connections stay open, and
// the lock is held until release.
func (s *socket) stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	s.closed = true
	s.listener.Close()
	if s.placed() {
		_ = os.Remove(s.path) // if it fails the next daemon replaces it
	}
}

// release releases the claim.
func (s *socket) release() { s.claim.Release() }

// Claim is the exclusive right to serve a socket. A daemon takes it before it
// measures anything and holds it until it has stopped.
//
// The claim is a lock on "<socket>.lock". That file may be deleted while a
// daemon serves, so ClaimSocket also checks the two other signs of a running
// daemon: the lock on its status file and a listener on its socket.
type Claim struct {
	path string // the socket's path

	mu   sync.Mutex
	lock *os.File
}

// ClaimSocket claims the socket at path. It returns ErrSocketPath if path cannot hold a
// socket, and ErrSocketTaken if another daemon serves it or is starting on it. The caller
// must call Release.
func ClaimSocket(path string) (*Claim, error) {
	if err := CheckSocket(path); err != nil {
		return nil, err
	}
	lock, err := lockPath(path)
	if err != nil {
		return nil, err
	}
	err = listening(path)
	if err == nil {
		err = statusHeld(path + ".status")
	}
	if err != nil {
		lock.Close()
		return nil, err
	}
	return &Claim{path: path, lock: lock}, nil
}

// Release drops the claim.
func (c *Claim) Release() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lock.Close()
}

// restore takes the lock again if the lock file was deleted. It fails if
// another daemon has taken the lock since.
func (c *Claim) restore() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if leadsTo(c.path+".lock", c.lock) {
		return nil
	}
	lock, err := lockPath(c.path)
	if err != nil {
		return err
	}
	c.lock.Close()
	c.lock = lock
	return nil
}

// leadsTo reports whether path names the open file f.
func leadsTo(path string, f *os.File) bool {
	ours, err := f.Stat()
	if err != nil {
		return false
	}
	file, err := os.Lstat(path)
	return err == nil && os.SameFile(file, ours)
}

// lockPath creates and locks "<path>.lock", which holds this process's id.
func lockPath(path string) (*os.File, error) {
	name := path + ".lock"
	lock, err := openLocked(name, os.O_RDWR|os.O_CREATE)
	if errors.Is(err, errLocked) {
		return nil, taken(pidIn(name), "holds %q", name)
	}
	if err != nil {
		return nil, fmt.Errorf("could not lock the socket: %w", err)
	}
	pid := strconv.AppendInt(nil, int64(os.Getpid()), 10)
	if err = lock.Truncate(0); err == nil {
		_, err = lock.WriteAt(append(pid, '\n'), 0)
	}
	if err != nil {
		lock.Close()
		return nil, fmt.Errorf("could not write the lock file: %w", err)
	}
	return lock, nil
}

// pidIn reads the process id in a lock file, 0 if there is none.
func pidIn(name string) int32 {
	f, err := os.OpenFile(name, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return 0
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, 20))
	if err != nil {
		return 0
	}
	pid, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 32)
	if err != nil {
		return 0
	}
	return int32(pid)
}

// statusHeld fails if a living daemon holds the status file at name.
func statusHeld(name string) error {
	f, err := os.OpenFile(name, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil // replacing the file reports anything else in its place
	}
	defer f.Close()
	lock := unix.Flock_t{Type: unix.F_RDLCK}
	if err := unix.FcntlFlock(f.Fd(), unix.F_OFD_GETLK, &lock); err != nil || lock.Type == unix.F_UNLCK {
		return nil
	}
	b := make([]byte, 4096)
	n, _ := f.ReadAt(b, 0) // a short file decodes to an error
	var pid int32
	if s, err := shm.DecodeStatus(b[:n]); err == nil {
		pid = s.PID
	}
	return taken(pid, "holds %q", name)
}

// listening fails if a process listens at the socket's path.
func listening(path string) error {
	sock, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: path, Net: "unix"})
	if errors.Is(err, unix.EAGAIN) { // it listens, but does not keep up
		return taken(0, "listens there")
	}
	if err != nil {
		return nil // no socket, or a dead daemon's
	}
	defer sock.Close()
	peer, err := peerOf(sock)
	if err != nil {
		peer.pid = 0
	}
	return taken(peer.pid, "listens there")
}

// taken returns an ErrSocketTaken that names the process; pid is 0 if unknown.
func taken(pid int32, format string, args ...any) error {
	who := "another process"
	if pid > 0 {
		who = fmt.Sprintf("process %d", pid)
	}
	return fmt.Errorf("%w: %s %s", ErrSocketTaken, who, fmt.Sprintf(format, args...))
}
