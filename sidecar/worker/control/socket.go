package control

import (
	"encoding/binary"
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

// ErrMessage reports a packet that no correct daemon sends.
var ErrMessage = errors.New("malformed handover")

// MaxExtents is the maximum number of extents in one packet.
const MaxExtents = shm.FrameMaxFDs

// Kind is the type of a packet.
type Kind uint16

const (
	Give Kind = iota + 1 // extents, with a descriptor each
	Drop                 // extents that the daemon has dropped
)

// Message is one packet: a header of 16 bytes, and 8 bytes an extent, all
// little-endian.
//
//	offset  bytes
//	0       4      "gjho"
//	4       2      kind
//	6       2      number of extents
//	8       8      bytes of each extent
//	16      8 each extent
type Message struct {
	Kind    Kind
	Size    int64
	Extents []uint64
	FDs     []int // Give: one per extent; the receiver must close them
}

const (
	magic      = "gjho"
	headerSize = 16
	maxPacket  = headerSize + 8*MaxExtents
)

func (m *Message) encode() []byte {
	b := append(make([]byte, 0, maxPacket), magic...)
	b = binary.LittleEndian.AppendUint16(b, uint16(m.Kind))
	b = binary.LittleEndian.AppendUint16(b, uint16(len(m.Extents)))
	b = binary.LittleEndian.AppendUint64(b, uint64(m.Size))
	for _, id := range m.Extents {
		b = binary.LittleEndian.AppendUint64(b, id)
	}
	return b
}

// decode parses a packet that arrived with fds.
func decode(b []byte, fds []int) (*Message, error) {
	if len(b) < headerSize || string(b[:4]) != magic {
		return nil, fmt.Errorf("%w: %d bytes", ErrMessage, len(b))
	}
	m := &Message{Kind: Kind(binary.LittleEndian.Uint16(b[4:])), FDs: fds}
	n := int(binary.LittleEndian.Uint16(b[6:]))
	size := binary.LittleEndian.Uint64(b[8:])
	if n < 1 || n > MaxExtents || len(b) != headerSize+8*n {
		return nil, fmt.Errorf("%w: %d extents in %d bytes", ErrMessage, n, len(b))
	}
	if want := map[Kind]int{Give: n, Drop: 0}; m.Kind < Give || m.Kind > Drop || len(fds) != want[m.Kind] {
		return nil, fmt.Errorf("%w: kind %d with %d descriptors", ErrMessage, m.Kind, len(fds))
	}
	if size > shm.ExtentMaxSize {
		return nil, fmt.Errorf("%w: extents of %d bytes", ErrMessage, size)
	}
	m.Size = int64(size)
	for i := range n {
		m.Extents = append(m.Extents, binary.LittleEndian.Uint64(b[headerSize+8*i:]))
	}
	return m, nil
}
