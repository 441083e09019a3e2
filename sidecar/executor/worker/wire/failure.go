package wire

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"gpujoin/joincore"
)

// Errors of a run that the worker reports.
var (
	// ErrDevice: the device does not work any more. The worker ends.
	ErrDevice = errors.New("device lost")
	// ErrRefused: the run asked for a batch that the daemon did not grant.
	ErrRefused = errors.New("no batch was granted")
)

// failures translates errors; the first match counts.
var failures = []struct {
	err  error
	code Failure
}{
	{ErrDevice, Failure_FAILURE_DEVICE},
	{ErrRefused, Failure_FAILURE_REFUSED},
	{context.Canceled, Failure_FAILURE_CANCELLED},
	{joincore.ErrRowTooWide, Failure_FAILURE_ROW_TOO_WIDE},
	{joincore.ErrBudget, Failure_FAILURE_BUDGET},
	{joincore.ErrUnsupported, Failure_FAILURE_UNSUPPORTED},
	{joincore.ErrInvalid, Failure_FAILURE_INVALID},
}

// maxText bounds what is said of an error.
const maxText = 1000

// EncodeDone reports how a run has ended.
func EncodeDone(err error, stats *joincore.Stats) *Done {
	if err == nil {
		return &Done{Stats: EncodeStats(stats)}
	}
	text := err.Error()
	out := &Done{Failure: Failure_FAILURE_OTHER, Text: strings.ToValidUTF8(text[:min(len(text), maxText)], "?")}
	for _, f := range failures {
		if errors.Is(err, f.err) {
			out.Failure = f.code
			break
		}
	}
	return out
}

// remoteError is an error of the worker: its text, and what it is here.
type remoteError struct {
	text string
	is   error
}

func (e *remoteError) Error() string { return e.text }
func (e *remoteError) Unwrap() error { return e.is }

// Err returns how the run has ended.
func (d *Done) Err() error {
	if d.GetFailure() == Failure_FAILURE_NONE {
		return nil
	}
	text, _, _ := strings.Cut(d.GetText(), "\n")
	text = strings.ToValidUTF8(text[:min(len(text), maxText)], "?")
	for _, f := range failures {
		if f.code == d.GetFailure() {
			return &remoteError{text, f.err}
		}
	}
	return fmt.Errorf("the worker failed: %s", text)
}
