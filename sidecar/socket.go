package sidecar

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"sync"

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

// bind opens a listener at the path.
func (s *socket) bind() error {
	l, err := bind(s.path)
	if err != nil {
		return err
	}
	file, err := os.Lstat(s.path)
	if err != nil {
		l.Close()
		return fmt.Errorf("%w: %w", ErrSocketPath, err)
	}
	s.listener, s.file = l, file
	return nil
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
	if file, err := os.Lstat(s.path); err == nil && os.SameFile(file, s.file) {
		return false, nil
	}
	old := s.listener
	if err := s.bind(); err != nil {
		return false, err
	}
	old.Close()
	return true, nil
}

// bind listens at path. It replaces a socket without a listener, which a dead
// daemon has left.
func bind(path string) (*net.UnixListener, error) {
	switch st, err := os.Lstat(path); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, fmt.Errorf("%w: %w", ErrSocketPath, err)
	case st.Mode().Type() != fs.ModeSocket:
		return nil, fmt.Errorf("%w: %q exists and is not a socket", ErrSocketPath, path)
	default:
		if err := listening(path); err != nil {
			return nil, err
		}
		if err := os.Remove(path); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrSocketPath, err)
		}
	}
	umask.Lock()
	old := unix.Umask(0o177)
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	unix.Umask(old)
	umask.Unlock()
	if err != nil {
		return nil, fmt.Errorf("could not listen: %w", err)
	}
	l.SetUnlinkOnClose(false) // remove deletes the file while the lock is held
	return l, nil
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
	if file, err := os.Lstat(s.path); err == nil && os.SameFile(file, s.file) {
		_ = os.Remove(s.path) // if it fails the next daemon replaces it
	}
}

// release releases the claim.
func (s *socket) release() { s.claim.Release() }
