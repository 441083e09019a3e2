//go:build cuda

package driver

import (
	"fmt"
	"reflect"

	"gpujoin/joincore"
)

// Error is a failed driver call. errors.Is(err, joincore.ErrBudget) holds if memory
// ran out.
type Error struct {
	Call string // the driver's function
	Code int    // CUresult
	text string
}

func (e *Error) Error() string {
	if e.text == "" {
		return fmt.Sprintf("%s: CUDA error %d", e.Call, e.Code)
	}
	return fmt.Sprintf("%s: CUDA error %d (%s)", e.Call, e.Code, e.text)
}

// Is maps out-of-memory results to joincore.ErrBudget.
func (e *Error) Is(target error) bool {
	return target == joincore.ErrBudget && e.Code == codeOutOfMemory
}

// Sticky reports that the context is lost: every later call fails, and only a new
// process can use the device.
func (e *Error) Sticky() bool {
	switch e.Code {
	case codeECC, codeNVLink, codeIllegalAddress, codeLaunchTimeout, codeContextDestroyed, codeAssert, codeHardwareStack,
		codeIllegalInstruction, codeMisaligned, codeAddressSpace, codeInvalidPC, codeLaunchFailed, codeDeinitialised,
		codeUnavailable, codeUnknown:
		return true
	}
	return false
}

// failure returns the error of a result, nil for success.
func failure(call string, code int) error {
	if code == 0 {
		return nil
	}
	return &Error{Call: call, Code: code}
}

// wrap converts an error of cu to an *Error. It is a result number whose type cu does
// not export.
func wrap(call string, err error) error {
	if err == nil {
		return nil
	}
	e := &Error{Call: call, Code: codeUnknown, text: err.Error()}
	if v := reflect.ValueOf(err); v.CanInt() {
		e.Code = int(v.Int())
	}
	return e
}
