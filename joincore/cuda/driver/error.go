//go:build cuda

package driver

import (
	"fmt"
	"reflect"

	"gpujoin/joincore"
)

// Error is a driver call that failed. errors.Is(err, joincore.ErrBudget) holds
// where memory ran out.
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

// Is makes an error of memory one of the budget.
func (e *Error) Is(target error) bool {
	return target == joincore.ErrBudget && e.Code == codeOutOfMemory
}

// Sticky says that the context is lost: every later call fails, and the device
// works again only in a new process.
func (e *Error) Sticky() bool {
	switch e.Code {
	case codeECC, codeNVLink, codeIllegalAddress, codeLaunchTimeout, codeContextDestroyed, codeAssert, codeHardwareStack,
		codeIllegalInstruction, codeMisaligned, codeAddressSpace, codeInvalidPC, codeLaunchFailed, codeDeinitialised,
		codeUnavailable, codeUnknown:
		return true
	}
	return false
}

// failure makes an error of a result.
func failure(call string, code int) error {
	if code == 0 {
		return nil
	}
	return &Error{Call: call, Code: code}
}

// wrap makes an *Error of an error of cu, which is a result as a number whose
// type cu keeps to itself.
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
