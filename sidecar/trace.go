package sidecar

import (
	"encoding/binary"
	"io"
	"sync"
	"time"
)

// TraceMagic is the start of a trace file. Records follow it.
const TraceMagic = "GJT1"

// TraceRecordSize is the size in bytes of a record's header, which precedes the
// frame: microseconds since the start of the trace and session id, 8 bytes
// each; direction (1: from the daemon) and size of the frame in bytes, 4 bytes
// each.
const TraceRecordSize = 24

// Tracer records frames for gpujoind dump. A nil Tracer records nothing.
type Tracer struct {
	mu    sync.Mutex
	w     io.Writer
	start time.Time
	buf   []byte
	err   error
}

// NewTracer returns a Tracer that writes to w. It writes TraceMagic at once.
func NewTracer(w io.Writer) (*Tracer, error) {
	if _, err := io.WriteString(w, TraceMagic); err != nil {
		return nil, err
	}
	return &Tracer{w: w, start: time.Now()}, nil
}

// record appends one frame, which may be passed in parts.
func (t *Tracer) record(session uint64, fromDaemon bool, parts ...[]byte) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	n := 0
	for _, p := range parts {
		n += len(p)
	}
	direction := uint32(0)
	if fromDaemon {
		direction = 1
	}
	b := binary.LittleEndian.AppendUint64(t.buf[:0], uint64(time.Since(t.start).Microseconds()))
	b = binary.LittleEndian.AppendUint64(b, session)
	b = binary.LittleEndian.AppendUint32(b, direction)
	b = binary.LittleEndian.AppendUint32(b, uint32(n))
	for _, p := range parts {
		b = append(b, p...)
	}
	t.buf = b
	if t.err == nil {
		_, t.err = t.w.Write(b)
	}
}
