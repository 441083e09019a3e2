package sidecar

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"golang.org/x/sys/unix"
)

// Errors of taking a socket path.
var (
	ErrSocketPath  = errors.New("unusable socket path")
	ErrSocketTaken = errors.New("another daemon serves this socket")
)

// maxSocketPath is what sockaddr_un holds, without the NUL.
const maxSocketPath = 107

// CheckSocket says whether path is fit for a socket that only its owner may
// replace.
func CheckSocket(path string, allowedUIDs []uint32) error {
	switch {
	case !filepath.IsAbs(path):
		return fmt.Errorf("%w: %q is not absolute", ErrSocketPath, path)
	case len(path) > maxSocketPath:
		return fmt.Errorf("%w: %q has %d bytes, the system allows %d", ErrSocketPath, path, len(path), maxSocketPath)
	}
	dir := filepath.Dir(path)
	var st unix.Stat_t
	if err := unix.Stat(dir, &st); err != nil {
		return fmt.Errorf("%w: directory %q: %w", ErrSocketPath, dir, err)
	}
	switch owner := st.Uid; {
	case st.Mode&unix.S_IFMT != unix.S_IFDIR:
		return fmt.Errorf("%w: %q is not a directory", ErrSocketPath, dir)
	case owner != uint32(os.Geteuid()) && owner != 0 && !slices.Contains(allowedUIDs, owner):
		return fmt.Errorf("%w: directory %q belongs to user %d", ErrSocketPath, dir, owner)
	case st.Mode&0o022 != 0 && st.Mode&unix.S_ISVTX == 0:
		return fmt.Errorf("%w: others may write to directory %q (mode %04o); use one of mode 0700 or 0750", ErrSocketPath, dir, st.Mode&0o7777)
	}
	return nil
}

// socket is a listening socket, the lock that makes it ours, and its file.
type socket struct {
	*net.UnixListener
	path string
	lock *os.File
	once sync.Once
}

// umask is a process-wide setting.
var umask sync.Mutex

// listen takes the path: one daemon holds the lock on "<path>.lock" for its
// life, so that a socket file without it is a dead daemon's and may go.
func listen(path string, allowedUIDs []uint32) (*socket, error) {
	if err := CheckSocket(path, allowedUIDs); err != nil {
		return nil, err
	}
	lock, err := openLocked(path+".lock", os.O_RDWR|os.O_CREATE)
	if err != nil {
		return nil, err
	}
	l, err := bind(path)
	if err != nil {
		lock.Close()
		return nil, err
	}
	return &socket{UnixListener: l, path: path, lock: lock}, nil
}

func bind(path string) (*net.UnixListener, error) {
	switch st, err := os.Lstat(path); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, fmt.Errorf("%w: %w", ErrSocketPath, err)
	case st.Mode().Type() != fs.ModeSocket:
		return nil, fmt.Errorf("%w: %q exists and is not a socket", ErrSocketPath, path)
	default:
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
	l.SetUnlinkOnClose(false) // remove does it, while the lock is held
	return l, nil
}

// openLocked opens path and takes a write lock on its open file description,
// which ends with the process, however that ends.
func openLocked(path string, flags int) (*os.File, error) {
	f, err := os.OpenFile(path, flags|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, fmt.Errorf("could not open lock file: %w", err)
	}
	if err := lockFile(f); err != nil {
		f.Close()
		if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EACCES) {
			return nil, fmt.Errorf("%w: %q is locked", ErrSocketTaken, path)
		}
		return nil, fmt.Errorf("could not lock %q: %w", path, err)
	}
	return f, nil
}

func lockFile(f *os.File) error {
	return unix.FcntlFlock(f.Fd(), unix.F_OFD_SETLK, &unix.Flock_t{Type: unix.F_WRLCK, Whence: 0})
}

// remove takes the socket's file away; connections stay.
func (s *socket) remove() {
	s.once.Do(func() {
		_ = s.Close() // wakes Accept
		if err := os.Remove(s.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return // the next daemon replaces it
		}
	})
}
