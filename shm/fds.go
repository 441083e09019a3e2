package shm

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// ErrControl: ancillary data that the protocol does not have.
var ErrControl = errors.New("unexpected ancillary data")

// controlSpace holds the control message of one whole frame.
var controlSpace = unix.CmsgSpace(FrameMaxFDs * 4)

// TakeFDs returns the descriptors in oob, the ancillary data of one read. On
// any error it closes all that arrived: a truncated list cannot be matched
// with its frame.
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
