package shm

import (
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// ErrDirection: the peer sent a message that only this side may send.
var ErrDirection = errors.New("message was sent in the wrong direction")

// bufferSize holds many of the frequent frames.
const bufferSize = 4096

// Conn sends and receives frames over a unix stream socket. One goroutine may read
// while another one writes.
type Conn struct {
	sock   *net.UnixConn
	raw    syscall.RawConn
	daemon bool // this side is the daemon

	buf        []byte // bytes received but not consumed: buf[from:to]
	from, to   int
	fds        []int // received with frames not consumed yet
	oob        []byte
	control    []byte // ancillary data of writes
	n, oobn    int    // results of receive
	flags      int
	rerr, werr error
	wn         int
	wbuf       []byte
	wfds       []byte
	receive    func(uintptr) bool
	sendAll    func(uintptr) bool
	sendOnce   func(uintptr) bool
}

// NewConn takes ownership of sock. daemon is this side's role: it decides which
// messages may arrive; a daemon accepts no descriptors.
func NewConn(sock *net.UnixConn, daemon bool) (*Conn, error) {
	raw, err := sock.SyscallConn()
	if err != nil {
		return nil, err
	}
	c := &Conn{sock: sock, raw: raw, daemon: daemon, buf: make([]byte, bufferSize), oob: make([]byte, controlSpace)}
	// The closures are created once, so that a frame costs no allocation.
	c.receive = func(fd uintptr) bool {
		for {
			c.n, c.oobn, c.flags, _, c.rerr = unix.Recvmsg(int(fd), c.buf[c.to:], c.oob, unix.MSG_CMSG_CLOEXEC)
			if c.rerr != unix.EINTR {
				return c.rerr != unix.EAGAIN
			}
		}
	}
	c.sendOnce = func(fd uintptr) bool {
		for {
			c.wn, c.werr = unix.SendmsgN(int(fd), c.wbuf, c.wfds, nil, unix.MSG_NOSIGNAL)
			if c.werr != unix.EINTR {
				return true
			}
		}
	}
	c.sendAll = func(fd uintptr) bool {
		c.sendOnce(fd)
		return c.werr != unix.EAGAIN
	}
	return c, nil
}

// Close closes the socket and the received descriptors that no caller owns. No Read
// may be running whose result matters.
func (c *Conn) Close() error { return c.sock.Close() }

// Sock returns the socket, for deadlines and credentials.
func (c *Conn) Sock() *net.UnixConn { return c.sock }

// HungUp reports whether the peer has closed its end, even if there are unread bytes.
func (c *Conn) HungUp() (hup bool, err error) {
	err = c.raw.Control(func(fd uintptr) {
		list := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLRDHUP}}
		n, perr := unix.Poll(list, 0)
		hup = perr == nil && n > 0
	})
	return hup, err
}

// AllRead reports whether the peer has read everything sent, and so has received all
// descriptors.
func (c *Conn) AllRead() (all bool, err error) {
	var ierr error
	err = c.raw.Control(func(fd uintptr) {
		var n int // what the kernel charges for messages until they are read
		n, ierr = unix.IoctlGetInt(int(fd), unix.SIOCOUTQ)
		all = n == 0
	})
	if err == nil && ierr != nil {
		err = fmt.Errorf("SIOCOUTQ: %w", ierr)
	}
	return all, err
}

// CloseRead makes Read return io.EOF after what has already arrived.
func (c *Conn) CloseRead() { _ = c.sock.CloseRead() } // fails only if the socket is closed

// StopWrites makes a running Write return, and later ones fail.
func (c *Conn) StopWrites() { _ = c.sock.SetWriteDeadline(time.Unix(1, 0)) } // fails only if the socket is closed

// fill receives at least one more byte.
func (c *Conn) fill() error {
	if err := c.raw.Read(c.receive); err != nil {
		return err
	}
	if c.rerr != nil {
		return fmt.Errorf("recvmsg: %w", c.rerr)
	}
	fds, err := TakeFDs(c.oob[:c.oobn], c.flags)
	if err != nil {
		return err
	}
	c.fds = append(c.fds, fds...)
	if c.daemon && len(c.fds) > 0 {
		return fmt.Errorf("%w: the daemon accepts none", ErrFrameFDs)
	}
	if c.n == 0 {
		return io.EOF
	}
	c.to += c.n
	return nil
}

// need makes at least n bytes available in buf[from:to].
func (c *Conn) need(n int) error {
	if c.from == c.to {
		c.from, c.to = 0, 0
		if len(c.buf) > bufferSize && n <= bufferSize { // the last body was large
			c.buf = make([]byte, bufferSize)
		}
	}
	if c.from+n > len(c.buf) {
		b := c.buf
		if n > len(b) {
			b = make([]byte, n)
		}
		c.to = copy(b, c.buf[c.from:c.to])
		c.from, c.buf = 0, b
	}
	for c.to-c.from < n {
		if err := c.fill(); err != nil {
			if err == io.EOF && c.to > c.from {
				err = io.ErrUnexpectedEOF
			}
			return err
		}
	}
	return nil
}

// Read returns the next frame: its checked header, its body, valid until the next
// Read, and its descriptors, which the caller then owns. io.EOF means that the peer has
// closed the connection between frames. After any error the connection is unusable,
// and all received descriptors are closed.
func (c *Conn) Read() (f Frame, body []byte, fds []int, err error) {
	defer func() {
		if err != nil { // no further frame will be read
			CloseFDs(c.fds)
			c.fds = nil
		}
	}()
	if err = c.need(FrameSize); err != nil {
		return f, nil, nil, err
	}
	if f, err = ParseFrame(c.buf[c.from : c.from+FrameSize]); err != nil {
		return f, nil, nil, err
	}
	if f.Type.FromDaemon() == c.daemon {
		return f, nil, nil, fmt.Errorf("%w: %s", ErrDirection, f.Type)
	}
	if len(c.fds) < int(f.NFDs) {
		return f, nil, nil, fmt.Errorf("%w: %d announced, %d received", ErrFrameFDs, f.NFDs, len(c.fds))
	}
	if err = c.need(FrameSize + int(f.Length)); err != nil {
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return f, nil, nil, err
	}
	from := c.from + FrameSize
	c.from = from + int(f.Length)
	body = c.buf[from:c.from:c.from]
	if f.NFDs > 0 {
		n := int(f.NFDs)
		fds, c.fds = c.fds[:n:n], c.fds[n:]
	}
	if c.from == c.to && len(c.fds) > 0 {
		CloseFDs(fds)
		return f, nil, nil, fmt.Errorf("%w: %d without a frame", ErrFrameFDs, len(c.fds))
	}
	return f, body, fds, nil
}

func (c *Conn) prepare(b []byte, fds []int) {
	c.wbuf, c.wfds = b, nil
	if len(fds) > 0 {
		c.control = append(c.control[:0], unix.UnixRights(fds...)...)
		c.wfds = c.control
	}
}

// Write sends all of b, with fds attached to its first byte. It blocks as long as
// necessary.
func (c *Conn) Write(b []byte, fds []int) error {
	c.prepare(b, fds)
	for len(c.wbuf) > 0 {
		if err := c.raw.Write(c.sendAll); err != nil {
			return err
		}
		if c.werr != nil {
			return fmt.Errorf("sendmsg: %w", c.werr)
		}
		c.wbuf, c.wfds = c.wbuf[c.wn:], nil
	}
	return nil
}

// WriteNow sends as much of b as the socket accepts without blocking, and returns the
// number of bytes. fds have been sent if it is not 0.
func (c *Conn) WriteNow(b []byte, fds []int) (int, error) {
	c.prepare(b, fds)
	if err := c.raw.Write(c.sendOnce); err != nil {
		return 0, err
	}
	if c.werr == unix.EAGAIN {
		return 0, nil
	}
	if c.werr != nil {
		return 0, fmt.Errorf("sendmsg: %w", c.werr)
	}
	return c.wn, nil
}

// ErrControl: ancillary data that is not part of the protocol.
var ErrControl = errors.New("unexpected ancillary data")

// controlSpace is the size of the control message of one frame.
var controlSpace = unix.CmsgSpace(FrameMaxFDs * 4)

// TakeFDs returns the descriptors in oob, the ancillary data of one read. On an
// error it closes all of them, because a truncated list cannot be matched with
// its frame.
func TakeFDs(oob []byte, flags int) (fds []int, err error) {
	if len(oob) > 0 {
		msgs, perr := unix.ParseSocketControlMessage(oob)
		if perr != nil {
			err = fmt.Errorf("%w: %w", ErrControl, perr)
		}
		for i := range msgs {
			got, rerr := unix.ParseUnixRights(&msgs[i])
			if rerr != nil {
				err = fmt.Errorf("%w: %w", ErrControl, rerr)
				continue
			}
			fds = append(fds, got...)
		}
	}
	if flags&unix.MSG_CTRUNC != 0 {
		err = fmt.Errorf("%w: truncated", ErrControl)
	}
	if err != nil {
		CloseFDs(fds)
		return nil, err
	}
	return fds, nil
}

// CloseFDs closes all of fds.
func CloseFDs(fds []int) {
	for _, fd := range fds {
		unix.Close(fd)
	}
}
