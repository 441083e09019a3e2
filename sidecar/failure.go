package sidecar

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"gpujoin/joincore"
	"gpujoin/joincore/planjson"
	"gpujoin/shm"
	"gpujoin/sidecar/foreign"
	"gpujoin/sidecar/memory"
)

// failure is an error in the form that is sent to backends.
type failure struct {
	code     shm.Failure
	sqlstate string // of FailSource
	text     string
}

func (f *failure) Error() string { return fmt.Sprintf("%s: %s", f.code, f.text) }

func failf(code shm.Failure, format string, args ...any) *failure {
	return &failure{code: code, text: fmt.Sprintf(format, args...)}
}

// violation returns the failure for a peer that violates the protocol.
func violation(format string, args ...any) error {
	return failf(shm.FailProtocol, format, args...)
}

// codes maps errors to the code that a backend receives; the first match counts.
var codes = []struct {
	err  error
	code shm.Failure
}{
	{memory.ErrTooLarge, shm.FailBudget},
	{memory.ErrShare, shm.FailShare}, // wraps ErrBudget, too, if a job outgrows its share
	{memory.ErrBusy, shm.FailBusy},
	{memory.ErrStopping, shm.FailStopping},
	{memory.ErrStore, shm.FailResources},
	{joincore.ErrBudget, shm.FailBudget},
	{joincore.ErrRowTooWide, shm.FailUnsupported},
	{shm.ErrRowTooWide, shm.FailUnsupported},
	{joincore.ErrUnsupported, shm.FailUnsupported},
	{planjson.ErrVersion, shm.FailVersion},
	{planjson.ErrMalformed, shm.FailProtocol},
	{joincore.ErrInvalid, shm.FailProtocol},
	{joincore.ErrArithmetic, shm.FailArithmetic},
	{context.Canceled, shm.FailStopping},
}

// toFailure converts any error to a failure. Its text is the first line of the
// error; further lines, such as the stack of a panic, are only logged. It
// returns nil for nil.
func toFailure(err error) *failure {
	var f *failure
	if err == nil {
		return nil
	}
	if errors.As(err, &f) {
		return f
	}
	if sqlstate, text, ok := foreign.Explain(err); ok {
		return &failure{shm.FailSource, sqlstate, text}
	}
	text, _, _ := strings.Cut(err.Error(), "\n")
	for _, c := range codes {
		if errors.Is(err, c.err) {
			return &failure{code: c.code, text: text}
		}
	}
	return &failure{code: shm.FailProvider, text: text}
}
