package control

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"gpujoin/joincore"
)

// Errors of a run that the worker reports.
var (
	// ErrDevice reports that the device no longer works. The worker exits.
	ErrDevice = errors.New("device lost")
	// ErrRefused reports that the daemon did not grant a requested batch.
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
	{joincore.ErrArithmetic, Failure_FAILURE_ARITHMETIC},
}

// maxText is the maximum length of an error's text, in bytes.
const maxText = 1000

// EncodeDone returns the message that reports the end of a run: its error, nil
// on success, and its statistics.
func EncodeDone(err error, stats *joincore.Stats) *Done {
	if err == nil {
		return &Done{Stats: encodeStats(stats)}
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

// remoteError is an error of the worker: its text and the local error that it
// maps to.
type remoteError struct {
	text string
	is   error
}

func (e *remoteError) Error() string { return e.text }
func (e *remoteError) Unwrap() error { return e.is }

// Err returns the error with which the run ended, or nil.
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
