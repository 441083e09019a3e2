package fds

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"time"

	"gpujoin/shm"

	"golang.org/x/sys/unix"
)

// Sender is the daemon's end.
type Sender struct {
	sock *net.UnixConn
	gone chan struct{}
}

// Pair returns the daemon's end, and the file that a worker inherits.
func Pair() (*Sender, *os.File, error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("socketpair: %w", err)
	}
	theirs := os.NewFile(uintptr(fds[1]), "handover")
	sock, err := connOf(os.NewFile(uintptr(fds[0]), "handover"))
	if err != nil {
		theirs.Close()
		return nil, nil, err
	}
	s := &Sender{sock: sock, gone: make(chan struct{})}
	go s.watch()
	return s, theirs, nil
}

// connOf takes over f.
func connOf(f *os.File) (*net.UnixConn, error) {
	defer f.Close()
	c, err := net.FileConn(f)
	if err != nil {
		return nil, err
	}
	sock, ok := c.(*net.UnixConn)
	if !ok {
		c.Close()
		return nil, fmt.Errorf("%w: not a unix socket", ErrMessage)
	}
	return sock, nil
}

// watch waits for the end of the socket. A worker has nothing to say: one that
// speaks is cut off.
func (s *Sender) watch() {
	defer close(s.gone)
	var b [1]byte
	_, _ = s.sock.Read(b[:]) // whatever comes, it is over
}

// Gone is closed when the worker has closed its end, which it does by ending.
func (s *Sender) Gone() <-chan struct{} { return s.gone }

// Send sends a message; its descriptors stay the caller's. It waits while too
// many descriptors are under way.
func (s *Sender) Send(m *Message) error {
	var oob []byte
	if len(m.FDs) > 0 {
		oob = unix.UnixRights(m.FDs...)
	}
	for b := m.encode(); ; {
		_, _, err := s.sock.WriteMsgUnix(b, oob, nil)
		if !errors.Is(err, unix.ETOOMANYREFS) {
			return err
		}
		select {
		case <-s.gone:
			return net.ErrClosed
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// Close ends the connection and the watch.
func (s *Sender) Close() {
	s.sock.Close()
	<-s.gone
}

// Receiver is the worker's end.
type Receiver struct{ sock *net.UnixConn }

// NewReceiver takes over the file of Pair.
func NewReceiver(f *os.File) (*Receiver, error) {
	sock, err := connOf(f)
	if err != nil {
		return nil, err
	}
	return &Receiver{sock}, nil
}

// Next returns the next message. io.EOF means that the daemon is gone.
func (r *Receiver) Next() (*Message, error) {
	b, oob := make([]byte, maxPacket+1), make([]byte, unix.CmsgSpace(4*MaxExtents))
	n, oobn, flags, _, err := r.sock.ReadMsgUnix(b, oob)
	if err != nil {
		return nil, err
	}
	fds, err := shm.TakeFDs(oob[:oobn], flags)
	if err != nil {
		return nil, err
	}
	if n == 0 {
		return nil, io.EOF
	}
	m, err := decode(b[:n:n], fds)
	if err != nil {
		shm.CloseFDs(fds)
	}
	return m, err
}

// Close ends the connection.
func (r *Receiver) Close() { r.sock.Close() }
