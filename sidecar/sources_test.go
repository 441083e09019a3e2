package sidecar

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"gpujoin/shm"
	"gpujoin/testsupport/backend"
)

// silentSource is a source that accepts connections and never answers.
func silentSource(t *testing.T) map[string]any {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	t.Cleanup(func() { l.Close() })
	_, port, _ := strings.Cut(l.Addr().String(), ":")
	return map[string]any{"database_encoding": "UTF8", "server": 1, "mapping": 1, "keywords": map[string]string{
		"host": "127.0.0.1", "port": port, "user": "u", "dbname": "d", "password": "secret", "sslmode": "disable"}}
}

// TestSourceRequests: requests on foreign servers do not hold the connection up, and end with
// it. One that waits may wait for longer than a connection may be idle.
func TestSourceRequests(t *testing.T) {
	r := start(t, func(o *Options) { o.MirrorMemory, o.IdleTimeout = 64<<20, time.Second }, nil)
	c := r.dial(1)
	var answer struct{ Mirrors []any }
	must(t, c.Source(shm.SourceMirrors, struct{}{}, &answer))
	if answer.Mirrors == nil {
		t.Error("no list")
	}
	size := map[string]any{"source": silentSource(t), "tables": []any{map[string]any{"schema": "public", "table": "t"}}}
	var failed *backend.SourceError
	began := time.Now()
	if err := c.Source(shm.SourceSize, size, &answer); !errors.As(err, &failed) || failed.SQLState != "08001" || failed.Hint == "" {
		t.Errorf("%v", err)
	}
	if took := time.Since(began); took < 1500*time.Millisecond || took > 20*time.Second {
		t.Errorf("answered after %v", took)
	}
	pin := map[string]any{"source": silentSource(t), "freshness_ms": -1, "timeout_ms": 60_000, "tables": size["tables"]}
	must(t, c.SendSource(shm.SourcePin, pin))
	time.Sleep(100 * time.Millisecond)
	began = time.Now()
	c.Close()
	r.eventually("the request is given up", func() (bool, string) {
		r.srv.mu.Lock()
		defer r.srv.mu.Unlock()
		return len(r.srv.sessions) == 0, fmt.Sprint(len(r.srv.sessions))
	})
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("the connection ended after %v", took)
	}
}

// TestSourceViolations: what ends a connection.
func TestSourceViolations(t *testing.T) {
	r := start(t, nil, nil)
	pin := map[string]any{"source": silentSource(t), "timeout_ms": 60_000, "tables": []any{map[string]any{"schema": "public", "table": "t"}}}
	for what, send := range map[string]func(c *backend.Conn) error{
		"two requests": func(c *backend.Conn) error {
			must(t, c.SendSource(shm.SourcePin, pin))
			return c.SendSource(shm.SourceMirrors, struct{}{})
		},
		"an unknown kind": func(c *backend.Conn) error { return c.SendSource(99, struct{}{}) },
		"a wrong length": func(c *backend.Conn) error {
			return backend.Send(c, shm.MsgSourceGet, &shm.SourceGet{Kind: shm.SourceMirrors, Length: 3}, '{', '}')
		},
	} {
		c := r.dial(1)
		must(t, send(c))
		var failed *backend.Failed
		if _, _, _, err := c.Receive(); !errors.As(err, &failed) || failed.Code != shm.FailProtocol {
			t.Errorf("%s: %v", what, err)
		}
	}
	c := r.dial(1)
	var failed *backend.SourceError
	if err := c.Source(shm.SourcePin, "no object", &pin); !errors.As(err, &failed) || failed.SQLState != "08P01" {
		t.Errorf("%v", err)
	}
	must(t, c.Source(shm.SourceMirrors, struct{}{}, &pin)) // an error does not end the connection
}

// TestRecorded: a trace has the length of a request, and nothing of it.
func TestRecorded(t *testing.T) {
	frame := shm.AppendSourceGet(nil, shm.SourcePin, []byte(`{"password":"secret"}`))
	got := recorded(shm.MsgSourceGet, frame[shm.FrameSize:])
	if kind, text, err := shm.DecodeSourceGet(got); err != nil || kind != shm.SourcePin || strings.Trim(string(text), "*") != "" || len(text) != 21 {
		t.Errorf("%d %q %v", kind, text, err)
	}
	if string(recorded(shm.MsgForget, frame)) != string(frame) || len(recorded(shm.MsgSourceGet, frame[:3])) != 3 {
		t.Error("other frames are changed")
	}
}
