package sidecar

import (
	"fmt"
	"net"
	"os"
	"slices"

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

// allowed says whether processes of uid may talk to the daemon.
func (o *Options) allowed(uid uint32) bool {
	return uid == uint32(os.Geteuid()) || uid == 0 || slices.Contains(o.AllowedUIDs, uid)
}
