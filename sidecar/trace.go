package sidecar

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"gpujoin/shm"
)

// maxTraceQueue is the maximum number of bytes of records that wait to be
// written. A record that exceeds it is dropped. Any frame fits into an empty queue.
const maxTraceQueue = 16 << 20

// tracePatience is how long Close waits for the disk.
const tracePatience = 10 * time.Second

// Tracer records frames for gpujoind dump. A slow disk delays no session. A nil Tracer
// records nothing.
type Tracer struct {
	file  *AsyncWriter
	start time.Time

	mu      sync.Mutex
	dropped int64 // records
	err     error // of the file
}

// NewTracer returns a Tracer that writes to w. It writes shm.TraceMagic at once. The
// caller must call Close.
func NewTracer(w io.Writer) (*Tracer, error) {
	if _, err := io.WriteString(w, shm.TraceMagic); err != nil {
		return nil, err
	}
	t := &Tracer{start: time.Now()}
	t.file = NewAsyncWriter(w, maxTraceQueue, func(err error, dropped int64) bool {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.err = err
		t.dropped += dropped
		return err == nil
	})
	return t, nil
}

// record appends one frame, which is passed as header and body or as a whole. It never
// waits for the disk.
func (t *Tracer) record(session uint64, fromDaemon bool, frame, body []byte) {
	if t == nil {
		return
	}
	direction := uint32(0)
	if fromDaemon {
		direction = 1
	}
	var buf [shm.TraceRecordSize]byte
	b := binary.LittleEndian.AppendUint64(buf[:0], uint64(time.Since(t.start).Microseconds()))
	b = binary.LittleEndian.AppendUint64(b, session)
	b = binary.LittleEndian.AppendUint32(b, direction)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(frame)+len(body)))
	t.file.put(b, frame, body)
}

// Close writes the records that wait, for at most tracePatience, and ends the
// trace. It returns an error if the trace is incomplete.
func (t *Tracer) Close() error {
	var late, dropped error
	if !t.file.Close(tracePatience) {
		late = fmt.Errorf("the last frames are missing, because the file was not written within %v", tracePatience)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.dropped > 0 {
		dropped = fmt.Errorf("%d frames are missing, because the file was written too slowly", t.dropped)
	}
	return errors.Join(t.err, dropped, late)
}

// DumpTrace prints the trace in r to w, one line per frame.
func DumpTrace(w io.Writer, r io.Reader) error {
	for record, err := range shm.ReadTrace(r) {
		if err != nil {
			return err
		}
		text, err := shm.DescribeFrame(record.Frame)
		if err != nil {
			return fmt.Errorf("%w: %w", shm.ErrTrace, err)
		}
		arrow := "->"
		if record.FromDaemon {
			arrow = "<-"
		}
		if _, err := fmt.Fprintf(w, "%10.6f session %d %s %s\n", record.At.Seconds(), record.Session, arrow, text); err != nil {
			return err
		}
	}
	return nil
}
