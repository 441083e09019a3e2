package sidecar

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"gpujoin/shm"
)

// ErrTrace reports input that is not a trace or is damaged.
var ErrTrace = errors.New("malformed trace")

// DumpTrace prints the trace in r to w, one line per frame. A truncated last
// record, as a killed daemon leaves, ends the output without an error.
func DumpTrace(w io.Writer, r io.Reader) error {
	head := make([]byte, max(len(TraceMagic), TraceRecordSize))
	if _, err := io.ReadFull(r, head[:len(TraceMagic)]); err != nil || string(head[:len(TraceMagic)]) != TraceMagic {
		return fmt.Errorf("%w: it does not begin with the magic number", ErrTrace)
	}
	for {
		if _, err := io.ReadFull(r, head[:TraceRecordSize]); err == io.EOF || err == io.ErrUnexpectedEOF {
			return nil
		} else if err != nil {
			return err
		}
		us := binary.LittleEndian.Uint64(head)
		session := binary.LittleEndian.Uint64(head[8:])
		direction := binary.LittleEndian.Uint32(head[16:])
		n := binary.LittleEndian.Uint32(head[20:])
		if n < shm.FrameSize || n > shm.FrameSize+shm.FrameMax || direction > 1 {
			return fmt.Errorf("%w: a record of %d bytes", ErrTrace, n)
		}
		frame := make([]byte, n)
		if _, err := io.ReadFull(r, frame); err == io.EOF || err == io.ErrUnexpectedEOF {
			return nil
		} else if err != nil {
			return err
		}
		text, err := shm.DescribeFrame(frame)
		if err != nil {
			return fmt.Errorf("%w: %w", ErrTrace, err)
		}
		if _, err := fmt.Fprintf(w, "%10.6f session %d %s %s\n", float64(us)/1e6, session, [...]string{"->", "<-"}[direction], text); err != nil {
			return err
		}
	}
}
