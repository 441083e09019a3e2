package sidecar

import (
	"context"
	"net"
	"time"

	"gpujoin/shm"
)

// open starts a session on a new connection. It closes the connection if the
// peer is not allowed, too many connections are open or the server is stopping.
func (srv *Server) open(sock *net.UnixConn) {
	peer, err := srv.options.peer(sock)
	if err != nil || !allowed(peer.uid) {
		srv.counters.rejectedPeers.Add(1)
		srv.log.Warn("peer rejected", "pid", peer.pid, "uid", peer.uid, "error", err)
		sock.Close()
		return
	}
	conn, err := shm.NewConn(sock, true)
	if err == nil {
		err = sock.SetReadDeadline(time.Now().Add(srv.options.HelloTimeout))
	}
	if err != nil {
		srv.log.Warn("connection failed", "error", err)
		sock.Close()
		return
	}
	srv.mu.Lock()
	full := len(srv.sessions) >= srv.options.MaxConnections
	if full || srv.stopping {
		srv.mu.Unlock()
		f := failf(shm.FailStopping, "the daemon is stopping")
		if full {
			f = failf(shm.FailBusy, "%d connections are open", srv.options.MaxConnections)
		}
		srv.counters.refuse(f)
		_, _ = conn.WriteNow(shm.AppendFailed(nil, f.code, f.text), nil) // a courtesy
		sock.Close()
		return
	}
	srv.nextID++
	s := &session{srv: srv, id: srv.nextID, conn: conn, peer: peer}
	s.log = srv.log.With("session", s.id, "pid", peer.pid)
	s.out = newOutbox(conn, s.log, srv.trace, s.id)
	s.ctx, s.cancel = context.WithCancel(srv.ctx)
	srv.sessions[s] = struct{}{}
	srv.serving.Add(1)
	srv.mu.Unlock()
	go func() {
		defer srv.serving.Done()
		s.serve()
	}()
}
