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

// Claim is the right to serve a socket. One daemon has it at a time, from
// before it measures anything until after it has stopped.
//
// It is a lock on "<socket>.lock". That file may be deleted while a daemon
// serves, so whoever claims also looks for the two other traces of a living
// daemon: the lock on its status file, and a listener behind its socket.
type Claim struct {
	path string // of the socket

	mu   sync.Mutex
	lock *os.File
}

// ClaimSocket claims the socket at path. It fails with ErrSocketPath where no
// socket may be, and with ErrSocketTaken, naming the process if it can, where
// another daemon serves or is about to.
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

// Release gives the claim up.
func (c *Claim) Release() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lock.Close()
}

// restore takes the lock anew if its file was taken away. It fails where
// another daemon has it by now.
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

// leadsTo says whether path is the open file f.
func leadsTo(path string, f *os.File) bool {
	ours, err := f.Stat()
	if err != nil {
		return false
	}
	file, err := os.Lstat(path)
	return err == nil && os.SameFile(file, ours)
}

// lockPath locks "<path>.lock", a file with this process's id.
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
		return nil // whatever stands in the way is found out when it is replaced
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
		return nil // nothing there, or what a dead daemon left
	}
	defer sock.Close()
	peer, err := peerOf(sock)
	if err != nil {
		peer.pid = 0
	}
	return taken(peer.pid, "listens there")
}

// taken says which process is in the way, 0 if that is unknown.
func taken(pid int32, format string, args ...any) error {
	who := "another process"
	if pid > 0 {
		who = fmt.Sprintf("process %d", pid)
	}
	return fmt.Errorf("%w: %s %s", ErrSocketTaken, who, fmt.Sprintf(format, args...))
}
