package sidecar

import (
	"fmt"
	"net"
	"os"

	"golang.org/x/sys/unix"
)

// credentials are the process and user id of a peer, as the kernel reports them.
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

// allowed reports whether processes of user uid may connect: only the daemon's
// own user and root. Extents are reused without being cleared, so a peer that is
// granted one may read the rows of earlier jobs.
func allowed(uid uint32) bool { return uid == uint32(os.Geteuid()) || uid == 0 }
