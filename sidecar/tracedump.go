package sidecar

import (
	"fmt"
	"io"

	"gpujoin/shm"
)

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
