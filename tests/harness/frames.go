package harness

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"

	"golang.org/x/sys/unix"
)

// Message types of shm/layout.h that tests use.
const (
	MsgHello       = 1
	MsgOpen        = 2
	MsgAttach      = 3
	MsgWant        = 4
	MsgFilled      = 5
	MsgChainFilled = 6
	MsgFed         = 7
	MsgRun         = 8
	MsgNext        = 9
	MsgRelease     = 10
	MsgChainGet    = 11
	MsgReturned    = 12
	MsgStatsGet    = 13
	MsgInputFed    = 15
	MsgFilterGet   = 16
	MsgFiltered    = 17
	MsgPages       = 18
	MsgBlocksGet   = 20
	MsgProved      = 21
	MsgCaptured    = 22
	MsgWelcome     = 65
	MsgAdmitted    = 66
	MsgFailed      = 67
	MsgGrant       = 68
	MsgFedOK       = 69
	MsgRunning     = 70
	MsgResult      = 71
	MsgEnd         = 72
	MsgChainExtent = 73
	MsgStats       = 74
	MsgFilter      = 76
	MsgKept        = 77
	MsgBlocks      = 78
)

const (
	headerSize = 16
	maxBody    = 4 << 20
	maxFDs     = 16
)

// Frame is a message in transit, with its descriptors.
type Frame struct {
	Type  int
	Bytes []byte // header and body
	fds   []int
}

// Body returns the bytes after the header.
func (f *Frame) Body() []byte { return f.Bytes[headerSize:] }

// close closes the descriptors of a frame that is not passed on.
func (f *Frame) close() {
	for _, fd := range f.fds {
		_ = unix.Close(fd) // an error has no consequence
	}
	f.fds = nil
}

// readFrame reads the next frame.
func readFrame(c *net.UnixConn) (*Frame, error) {
	f := &Frame{Bytes: make([]byte, headerSize)}
	if err := f.fill(c, f.Bytes); err != nil {
		f.close()
		return nil, err
	}
	length := binary.LittleEndian.Uint32(f.Bytes[4:])
	if length > maxBody {
		f.close()
		return nil, fmt.Errorf("frame of %d bytes", length)
	}
	f.Type = int(binary.LittleEndian.Uint16(f.Bytes[8:]))
	f.Bytes = append(f.Bytes, make([]byte, length)...)
	if err := f.fill(c, f.Body()); err != nil {
		f.close()
		return nil, err
	}
	return f, nil
}

// fill reads exactly len(b) bytes and keeps the descriptors that arrive with them.
func (f *Frame) fill(c *net.UnixConn, b []byte) error {
	oob := make([]byte, unix.CmsgSpace(maxFDs*4))
	for len(b) > 0 {
		n, oobn, _, _, err := c.ReadMsgUnix(b, oob)
		if n == 0 && err == nil {
			err = io.EOF
		}
		if err != nil {
			return err
		}
		b = b[n:]
		if oobn == 0 {
			continue
		}
		messages, err := unix.ParseSocketControlMessage(oob[:oobn])
		if err != nil {
			return err
		}
		for _, m := range messages {
			fds, err := unix.ParseUnixRights(&m)
			if err != nil {
				return err
			}
			f.fds = append(f.fds, fds...)
		}
	}
	return nil
}

// write passes the frame on and closes this process's copies of its descriptors.
func (f *Frame) write(c *net.UnixConn) error {
	defer f.close()
	var oob []byte
	if len(f.fds) > 0 {
		oob = unix.UnixRights(f.fds...)
	}
	for b := f.Bytes; len(b) > 0; {
		n, _, err := c.WriteMsgUnix(b, oob, nil)
		if err != nil {
			return err
		}
		if n == 0 {
			return errors.New("nothing was written")
		}
		b, oob = b[n:], nil
	}
	return nil
}
