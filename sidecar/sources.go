package sidecar

import (
	"bytes"
	"encoding/json"
	"runtime/debug"

	"gpujoin/shm"
	"gpujoin/sidecar/foreign"
)

// sourceGet answers a request on foreign servers (SOURCE_GET), outside the read loop: it may
// wait for another server. It ends with the connection.
func (s *session) sourceGet(body []byte) error {
	kind, text, err := shm.DecodeSourceGet(body)
	if err != nil {
		return violation("%v", err)
	}
	s.mu.Lock()
	asking := s.asking
	s.asking = true
	s.mu.Unlock()
	if asking {
		return violation("SOURCE_GET before the answer to the last one")
	}
	text = bytes.Clone(text) // the next frame overwrites it
	s.aside.Go(func() {
		defer func() {
			if p := recover(); p != nil {
				s.log.Error("request on a foreign server panicked", "panic", p, "stack", string(debug.Stack()))
				s.refuse(failf(shm.FailInternal, "internal error of the daemon"))
			}
		}()
		answer := s.srv.sources.Handle(s.ctx, s.sourcePeer(), foreign.Kind(kind), text)
		if len(answer) > shm.MaxSource {
			answer = tooLong
		}
		s.mu.Lock()
		s.asking = false
		s.mu.Unlock()
		s.out.send(shm.AppendSource(nil, kind, answer))
		_ = s.limitIdle() // fails only if the connection is closed
	})
	return nil
}

// tooLong is the answer instead of one that exceeds a frame.
var tooLong = json.RawMessage(`{"error":{"sqlstate":"54000","message":"the answer of gpujoind is too long","detail":"","hint":"name fewer tables"}}`)

// sourcePeer says who this session's requests come from.
func (s *session) sourcePeer() foreign.Peer {
	return foreign.Peer{Cluster: s.hello.SystemIdentifier, Database: s.hello.Database, Owner: &s.pins}
}

// recorded returns what a trace has of a frame's body: nothing of the options of a foreign
// server, which have its password.
func recorded(m shm.Message, body []byte) []byte {
	if m != shm.MsgSourceGet {
		return body
	}
	n := min(len(body), shm.Sizeof[shm.SourceGet]())
	return append(bytes.Clone(body[:n]), bytes.Repeat([]byte("*"), len(body)-n)...)
}

// MirrorStatus is what the daemon mirrors of foreign servers.
type MirrorStatus struct {
	Limit  int64            `json:"limit"` // bytes
	Bytes  int64            `json:"bytes"` // in use, indexes included
	Tables []foreign.Mirror `json:"tables"`
}

func (srv *Server) mirrorStatus() MirrorStatus {
	return MirrorStatus{srv.options.MirrorMemory, srv.sources.Bytes(), srv.sources.List()}
}
