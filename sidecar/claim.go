package sidecar

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"

	"gpujoin/shm"

	"golang.org/x/sys/unix"
)

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

// ClaimSocket claims the socket at path. It returns ErrSocketPath if path
// cannot hold a socket, and ErrSocketTaken, with the process id if it is known,
// if another daemon serves the path or is starting on it. The caller must call
// Release.
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
