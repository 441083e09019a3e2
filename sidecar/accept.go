package sidecar

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"time"

	"gpujoin/shm"

	"golang.org/x/sys/unix"
)

// accept accepts connections. If no descriptor is free it closes the reserve
// descriptor to answer the next peer with an error, instead of spinning or
// giving up.
func (srv *Server) accept() {
	reserve, _ := os.Open(os.DevNull) // nil if it fails, and can be closed all the same
	defer func() { reserve.Close() }()
	for {
		sock, err := srv.socket.accept()
		switch {
		case err == nil:
			if reserve == nil {
				reserve, _ = os.Open(os.DevNull)
			}
			srv.startSession(sock)
			continue
		case srv.isStopping():
			return
		case errors.Is(err, unix.EMFILE), errors.Is(err, unix.ENFILE):
			srv.log.Warn("out of file descriptors")
			reserve.Close()
			if sock, err := srv.socket.accept(); err == nil {
				srv.refuse(sock, failf(shm.FailResources, "the daemon has no more file descriptors"))
			}
			reserve, _ = os.Open(os.DevNull)
		default:
			srv.log.Warn("accept failed", "error", err)
		}
		select {
		case <-srv.ctx.Done():
			return
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// startSession starts a session on a new connection. It closes the connection if the
// peer is not allowed, too many connections are open or the server is stopping.
func (srv *Server) startSession(sock *net.UnixConn) {
	peer, err := srv.options.peerOf(sock)
	if err != nil || !allowed(peer.uid) {
		srv.counters.count(func(t *totals) { t.RejectedPeers++ })
		srv.log.Warn("peer rejected", "pid", peer.pid, "uid", peer.uid, "error", err)
		sock.Close()
		return
	}
	conn, err := shm.NewConn(sock, true)
	if err == nil {
		err = sock.SetReadDeadline(time.Now().Add(srv.settings().HelloTimeout))
	}
	if err != nil {
		srv.log.Warn("connection failed", "error", err)
		sock.Close()
		return
	}
	srv.mu.Lock()
	most := srv.settings().Connections
	full := len(srv.sessions) >= most
	if full || srv.stopping {
		srv.mu.Unlock()
		f := failf(shm.FailStopping, "the daemon is stopping")
		if full {
			f = failf(shm.FailBusy, "%d connections are open", most)
		}
		srv.refuse(sock, f)
		return
	}
	srv.nextID++
	s := &session{srv: srv, id: srv.nextID, conn: conn, peer: peer}
	s.log = srv.log.With("session", s.id, "pid", peer.pid)
	s.out = newOutbox(conn, s.log, srv.trace, s.id)
	s.ctx, s.cancel = context.WithCancel(srv.ctx)
	srv.sessions[s] = struct{}{}
	srv.serving.Go(s.serve)
	srv.mu.Unlock()
}

// refuse answers a new connection with f and closes it.
func (srv *Server) refuse(sock *net.UnixConn, f *failure) {
	srv.counters.refuse(f)
	if conn, err := shm.NewConn(sock, true); err == nil {
		_, _ = conn.WriteNow(shm.AppendFailed(nil, f.code, f.sqlstate, f.text), nil) // a courtesy
	}
	sock.Close()
}

// credentials are the process and user id of a peer, as the kernel reports them.
type credentials struct {
	pid int32
	uid uint32
}

// peerOf returns the credentials of a connection's peer.
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

// leader returns the process id of the leader of c's parallel group; claimed is
// the id that c itself reports. Admission treats the processes of one group as
// one backend, so a process must not be able to claim membership of another
// backend's group. The leader is therefore either the process itself or a
// process of the same user with the same parent: PostgreSQL's leaders and
// workers are all children of the postmaster. Any other claim is ignored.
//
// The kernel reports no process id across a boundary of process id namespaces.
// In that case leader returns claimed.
func (c credentials) leader(claimed int32) int32 {
	if c.pid == 0 || claimed == c.pid || c.isSibling(claimed) {
		return max(claimed, 0)
	}
	return c.pid
}

// isSibling says whether a process of c's user has the same parent as c.
func (c credentials) isSibling(pid int32) bool {
	var st unix.Stat_t
	if pid <= 0 || unix.Stat(fmt.Sprintf("/proc/%d", pid), &st) != nil || st.Uid != c.uid {
		return false
	}
	parent := parentOf(pid)
	return parent > 0 && parent == parentOf(c.pid)
}

// parentOf returns a process's parent, 0 if there is no such process.
func parentOf(pid int32) int32 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	// The name of the program, in parentheses, may contain anything.
	fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
	if len(fields) < 2 {
		return 0
	}
	parent, err := strconv.ParseInt(string(fields[1]), 10, 32)
	if err != nil {
		return 0
	}
	return int32(parent)
}
