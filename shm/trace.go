package shm

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"
	"time"
)

// TraceMagic is the start of a trace file. Records follow it.
const TraceMagic = "GJT1"

// TraceRecordSize is the size in bytes of a record's header, which precedes the
// frame: microseconds since the start of the trace and session id, 8 bytes
// each; direction (1: from the daemon) and size of the frame in bytes, 4 bytes
// each.
const TraceRecordSize = 24

// ErrTrace reports input that is not a trace or is damaged.
var ErrTrace = errors.New("malformed trace")

// TraceRecord is a frame in a trace.
type TraceRecord struct {
	At         time.Duration // since the start of the trace
	Session    uint64
	FromDaemon bool
	Frame      []byte // header and body
}

// ReadTrace returns the records of the trace in r. A truncated last record, as a
// killed daemon leaves, ends them without an error. An error ends them, too.
func ReadTrace(r io.Reader) iter.Seq2[TraceRecord, error] {
	return func(yield func(TraceRecord, error) bool) {
		head := make([]byte, max(len(TraceMagic), TraceRecordSize))
		if _, err := io.ReadFull(r, head[:len(TraceMagic)]); err != nil || string(head[:len(TraceMagic)]) != TraceMagic {
			yield(TraceRecord{}, fmt.Errorf("%w: it does not begin with the magic number", ErrTrace))
			return
		}
		for {
			record, err := readRecord(r, head[:TraceRecordSize])
			if err == io.EOF || err == io.ErrUnexpectedEOF {
				return
			}
			if !yield(record, err) || err != nil {
				return
			}
		}
	}
}

func readRecord(r io.Reader, head []byte) (TraceRecord, error) {
	if _, err := io.ReadFull(r, head); err != nil {
		return TraceRecord{}, err
	}
	direction := binary.LittleEndian.Uint32(head[16:])
	n := binary.LittleEndian.Uint32(head[20:])
	if n < FrameSize || n > FrameSize+FrameMax || direction > 1 {
		return TraceRecord{}, fmt.Errorf("%w: a record of %d bytes", ErrTrace, n)
	}
	record := TraceRecord{
		At:         time.Duration(binary.LittleEndian.Uint64(head)) * time.Microsecond,
		Session:    binary.LittleEndian.Uint64(head[8:]),
		FromDaemon: direction == 1,
		Frame:      make([]byte, n),
	}
	_, err := io.ReadFull(r, record.Frame)
	return record, err
}
