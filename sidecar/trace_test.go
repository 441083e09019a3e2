package sidecar

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"gpujoin/shm"
)

// FuzzTrace prints damaged traces.
func FuzzTrace(f *testing.F) {
	var b bytes.Buffer
	tr, err := NewTracer(&b)
	if err != nil {
		f.Fatal(err)
	}
	tr.record(1, false, shm.AppendFrame(nil, shm.MsgHello, 0, &shm.Hello{}))
	tr.record(1, true, shm.AppendEmpty(nil, shm.MsgEnd), nil)
	f.Add(b.Bytes())
	f.Fuzz(func(t *testing.T, b []byte) {
		b = b[:len(b):len(b)]
		_ = DumpTrace(io.Discard, bytes.NewReader(b)) // an error is fine
	})
}

// TestCutTrace cuts a trace everywhere, as a kill does.
func TestCutTrace(t *testing.T) {
	var b bytes.Buffer
	tr, err := NewTracer(&b)
	must(t, err)
	tr.record(7, false, shm.AppendFrame(nil, shm.MsgHello, 0, &shm.Hello{LeaderPID: 99}))
	tr.record(7, true, shm.AppendEmpty(nil, shm.MsgEnd))
	for cut := range b.Len() + 1 {
		var out strings.Builder
		err := DumpTrace(&out, bytes.NewReader(b.Bytes()[:cut]))
		if (err != nil) != (cut < len(TraceMagic)) {
			t.Errorf("cut at %d: %v", cut, err)
		}
		if cut == b.Len() && (!strings.Contains(out.String(), "session 7 -> HELLO") || !strings.Contains(out.String(), "<- END")) {
			t.Error(out.String())
		}
	}
}
