package shm

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

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
