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

// Tracer records frames for gpujoind dump. A goroutine writes the records, so
// that a slow disk delays no session. A nil Tracer records nothing.
type Tracer struct {
	w     io.Writer
	start time.Time
	done  chan struct{} // closed when the goroutine has returned

	mu      sync.Mutex
	wake    sync.Cond // signalled when queue grows or the tracer closes
	queue   []byte
	dropped int64 // records
	closed  bool
	err     error // of w; nothing is written after it
}

// NewTracer returns a Tracer that writes to w. It writes shm.TraceMagic at once. The
// caller must call Close.
func NewTracer(w io.Writer) (*Tracer, error) {
	if _, err := io.WriteString(w, shm.TraceMagic); err != nil {
		return nil, err
	}
	t := &Tracer{w: w, start: time.Now(), done: make(chan struct{})}
	t.wake.L = &t.mu
	go t.write()
	return t, nil
}

// record appends one frame, which may be passed in parts. It never waits for
// the disk.
func (t *Tracer) record(session uint64, fromDaemon bool, parts ...[]byte) {
	if t == nil {
		return
	}
	n := 0
	for _, p := range parts {
		n += len(p)
	}
	direction := uint32(0)
	if fromDaemon {
		direction = 1
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed || t.err != nil {
		return
	}
	if len(t.queue)+shm.TraceRecordSize+n > maxTraceQueue {
		t.dropped++
		return
	}
	b := binary.LittleEndian.AppendUint64(t.queue, uint64(time.Since(t.start).Microseconds()))
	b = binary.LittleEndian.AppendUint64(b, session)
	b = binary.LittleEndian.AppendUint32(b, direction)
	b = binary.LittleEndian.AppendUint32(b, uint32(n))
	for _, p := range parts {
		b = append(b, p...)
	}
	t.queue = b
	t.wake.Signal()
}

// write writes the queue until the tracer is closed and the queue is empty.
func (t *Tracer) write() {
	defer close(t.done)
	t.mu.Lock()
	defer t.mu.Unlock()
	var spare []byte
	for {
		for len(t.queue) == 0 && !t.closed {
			t.wake.Wait()
		}
		if len(t.queue) == 0 {
			return
		}
		b := t.queue
		t.queue = spare
		t.mu.Unlock()
		_, err := t.w.Write(b)
		t.mu.Lock()
		spare = b[:0]
		if err != nil {
			t.err, t.queue = err, nil
			return
		}
	}
}

// Close writes the records that wait, for at most tracePatience, and ends the
// trace. It returns an error if the trace is incomplete.
func (t *Tracer) Close() error {
	t.mu.Lock()
	t.closed = true
	t.wake.Signal()
	t.mu.Unlock()
	var late error
	timer := time.NewTimer(tracePatience)
	defer timer.Stop()
	select {
	case <-t.done:
	case <-timer.C:
		late = fmt.Errorf("the last frames are missing, because the file was not written within %v", tracePatience)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	var dropped error
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
