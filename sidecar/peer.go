package sidecar

import (
	"fmt"
	"net"
	"os"

	"golang.org/x/sys/unix"
)

// credentials are the kernel's word on who is at the other end.
type credentials struct {
	pid int32
	uid uint32
}

func peerOf(sock *net.UnixConn) (c credentials, err error) {
	raw, err := sock.SyscallConn()
	if err != nil {
		return c, err
	}
	var cred *unix.Ucred
	var serr error
	if err := raw.Control(func(fd uintptr) {
		cred, serr = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	}); err != nil {
		return c, err
	}
	if serr != nil {
		return c, fmt.Errorf("SO_PEERCRED: %w", serr)
	}
	return credentials{pid: cred.Pid, uid: cred.Uid}, nil
}

// allowed says whether processes of uid may talk to the daemon: its own user's
// and root's. Extents go from job to job as they are, with the rows of earlier
// jobs in them, so that whoever is granted one must be allowed to read them all.
func allowed(uid uint32) bool { return uid == uint32(os.Geteuid()) || uid == 0 }
