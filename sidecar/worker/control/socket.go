package control

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

// Pair returns the daemon's end and the file for the worker to inherit. The
// caller must close both.
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

// connOf takes ownership of f.
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

// watch waits for the end of the socket. It also ends when the worker sends
// anything, which no correct worker does.
func (s *Sender) watch() {
	defer close(s.gone)
	var b [1]byte
	_, _ = s.sock.Read(b[:]) // data, EOF and errors all end the watch
}

// Gone returns a channel that is closed when the worker closes its end, which
// it does by exiting.
func (s *Sender) Gone() <-chan struct{} { return s.gone }

// Send sends a message. The caller keeps ownership of its descriptors. Send
// blocks while too many descriptors are in flight.
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

// NewReceiver takes ownership of f, the inherited file of Pair.
func NewReceiver(f *os.File) (*Receiver, error) {
	sock, err := connOf(f)
	if err != nil {
		return nil, err
	}
	return &Receiver{sock}, nil
}

// Next returns the next message, whose descriptors the caller must close. It
// returns io.EOF when the daemon has closed its end.
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
