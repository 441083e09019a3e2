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
	tr.record(1, false, shm.AppendFrame(nil, shm.MsgHello, 0, &shm.Hello{}), nil)
	tr.record(1, true, shm.AppendEmpty(nil, shm.MsgEnd), nil)
	must(f, tr.Close())
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
	tr.record(7, false, shm.AppendFrame(nil, shm.MsgHello, 0, &shm.Hello{LeaderPID: 99}), nil)
	tr.record(7, true, shm.AppendEmpty(nil, shm.MsgEnd), nil)
	must(t, tr.Close())
	for cut := range b.Len() + 1 {
		var out strings.Builder
		err := DumpTrace(&out, bytes.NewReader(b.Bytes()[:cut]))
		if (err != nil) != (cut < len(shm.TraceMagic)) {
			t.Errorf("cut at %d: %v", cut, err)
		}
		if cut == b.Len() && (!strings.Contains(out.String(), "session 7 -> HELLO") || !strings.Contains(out.String(), "<- END")) {
			t.Error(out.String())
		}
	}
}

// slowDisk is a writer that waits.
type slowDisk struct {
	bytes.Buffer
	free chan struct{} // closed when it writes
}

func (d *slowDisk) Write(b []byte) (int, error) {
	<-d.free
	return d.Buffer.Write(b)
}

// TestTraceOnASlowDisk: frames are sent while the trace cannot be written. The
// queue is bounded, and Close reports what was dropped.
func TestTraceOnASlowDisk(t *testing.T) {
	free := make(chan struct{})
	close(free)
	disk := &slowDisk{free: free}
	tr, err := NewTracer(disk)
	must(t, err)
	disk.free = make(chan struct{})
	p := newPipe(t, nil)
	p.out.trace = tr
	p.out.send(shm.AppendEmpty(nil, shm.MsgEnd))
	f, _, _, err := p.peer.Read()
	if err != nil || f.Type != shm.MsgEnd {
		t.Fatalf("%v, %v", f, err)
	}
	for range 2*maxTraceQueue/shm.FrameMax + 1 { // a full queue may be on its way to the disk
		tr.record(2, false, make([]byte, shm.FrameMax), nil)
	}
	close(disk.free)
	err = tr.Close()
	if err == nil || !strings.Contains(err.Error(), "frames are missing") {
		t.Errorf("Close returned %v", err)
	}
	if n := disk.Len(); n > 2*maxTraceQueue || n < maxTraceQueue/2 {
		t.Errorf("%d bytes were written", n)
	}
	if !bytes.Contains(disk.Bytes(), shm.AppendEmpty(nil, shm.MsgEnd)) {
		t.Error("the trace misses the frame that was sent")
	}
}
