package backend

import (
	"fmt"
	"net"
	"os"
	"time"

	"gpujoin/shm"

	"golang.org/x/sys/unix"
)

// Failed is a FAILED message as an error.
type Failed struct {
	Code shm.Failure
	Text string
}

func (f *Failed) Error() string { return fmt.Sprintf("the daemon failed: %s: %s", f.Code, f.Text) }

// Conn is a connection to a daemon. It is not safe for concurrent use.
type Conn struct {
	conn    *shm.Conn
	size    int64 // bytes of an extent
	mapped  map[*Extent]struct{}
	Timeout time.Duration
}

// Extent is an extent that the client has mapped.
type Extent struct {
	ID   uint64
	Rows int // rows in a result batch
	Data []byte
}

// Dial connects to the socket at path and exchanges HELLO and WELCOME. leader
// is the process id of the parallel group's leader; 0 means this process. The
// caller must close the connection.
func Dial(path string, leader int32) (*Conn, error) {
	c, err := DialRaw(path)
	if err != nil {
		return nil, err
	}
	if leader == 0 {
		leader = int32(os.Getpid())
	}
	w, err := c.Hello(shm.Hello{ProtocolVersion: shm.ProtocolVersion, LayoutVersion: shm.LayoutVersion, LeaderPID: leader})
	if err != nil {
		c.Close()
		return nil, err
	}
	if err := shm.CheckExtentSize(int64(w.ExtentSize)); err != nil {
		c.Close()
		return nil, err
	}
	c.size = int64(w.ExtentSize)
	return c, nil
}

// DialRaw connects to the socket at path and sends nothing.
func DialRaw(path string) (*Conn, error) {
	sock, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, err
	}
	conn, err := shm.NewConn(sock, false)
	if err != nil {
		sock.Close()
		return nil, err
	}
	return &Conn{conn: conn, mapped: map[*Extent]struct{}{}, Timeout: 30 * time.Second}, nil
}

// Path returns the path of the daemon's socket.
func (c *Conn) Path() string { return c.conn.Sock().RemoteAddr().String() }

// Raw returns the underlying connection, over which tests send malformed
// frames.
func (c *Conn) Raw() *shm.Conn { return c.conn }

// ExtentSize returns the size of the daemon's extents in bytes.
func (c *Conn) ExtentSize() int64 { return c.size }

// Close unmaps all extents and closes the connection.
func (c *Conn) Close() {
	for e := range c.mapped {
		_ = shm.Unmap(e.Data) // fails only for memory that is not mapped
	}
	c.mapped = nil
	c.conn.Close()
}

// Kill closes the connection and leaves the extents mapped, as if the process
// were being killed. Close must still be called.
func (c *Conn) Kill() { c.conn.Close() }

// Send sends one message with body v, followed by tail.
func Send[T shm.Struct](c *Conn, m shm.Message, v *T, tail ...byte) error {
	b := append(shm.AppendFrame(nil, m, 0, v), tail...)
	shm.FinishFrame(b, 0)
	return c.conn.Write(b, nil)
}

// SendEmpty sends a message without a body.
func (c *Conn) SendEmpty(m shm.Message) error { return c.conn.Write(shm.AppendEmpty(nil, m), nil) }

// Receive returns the next frame, its body and its descriptors. It returns a
// FAILED message as a *Failed error.
func (c *Conn) Receive() (shm.Frame, []byte, []int, error) {
	if err := c.conn.Sock().SetReadDeadline(time.Now().Add(c.Timeout)); err != nil {
		return shm.Frame{}, nil, nil, err
	}
	f, body, fds, err := c.conn.Read()
	if err != nil {
		return f, nil, nil, err
	}
	if f.Type == shm.MsgFailed {
		code, text, err := shm.DecodeFailed(body)
		if err != nil {
			return f, nil, nil, err
		}
		return f, nil, nil, &Failed{code, text}
	}
	return f, body, fds, nil
}

// expect receives a message of type m and returns its body and descriptors,
// which the caller must close. shm.Conn refuses descriptors that come with a
// message without any.
func (c *Conn) expect(m shm.Message) ([]byte, []int, error) {
	f, body, fds, err := c.Receive()
	if err != nil {
		return nil, nil, err
	}
	if f.Type != m {
		shm.CloseFDs(fds)
		return nil, nil, fmt.Errorf("%s where %s was expected", f.Type, m)
	}
	return body, fds, nil
}

// receive receives a message of type m. The caller must close its descriptors;
// there are none if it fails.
func receive[T shm.Struct](c *Conn, m shm.Message) (v T, fds []int, err error) {
	body, fds, err := c.expect(m)
	if err != nil {
		return v, nil, err
	}
	if v, err = shm.Decode[T](body); err != nil {
		shm.CloseFDs(fds)
		return v, nil, err
	}
	return v, fds, nil
}

// mapExtent verifies and maps fd, which is sent once only. It always closes fd.
func (c *Conn) mapExtent(id uint64, fd int) (*Extent, error) {
	for e := range c.mapped {
		if e.ID == id {
			unix.Close(fd)
			return nil, fmt.Errorf("extent %d was sent twice", id)
		}
	}
	return c.mapShared(id, fd)
}

// mapShared verifies and maps fd. It always closes fd.
func (c *Conn) mapShared(id uint64, fd int) (*Extent, error) {
	defer unix.Close(fd)
	if err := shm.VerifyMemfd(fd, c.size); err != nil {
		return nil, err
	}
	data, err := shm.MapAligned(fd, c.size)
	if err != nil {
		return nil, err
	}
	e := &Extent{ID: id, Data: data}
	c.mapped[e] = struct{}{}
	return e, nil
}

// unmap unmaps an extent. The caller must then tell the daemon.
func (c *Conn) unmap(e *Extent) error {
	delete(c.mapped, e)
	err := shm.Unmap(e.Data)
	e.Data = nil
	return err
}
