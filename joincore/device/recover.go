package device

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"gpujoin/joincore"
)

// Recover is deferred by every goroutine that touches input data: a panic
// becomes its error. An index out of range means that data contradicts its
// description, or changed while it was read; the process must outlive both.
func Recover(err *error) {
	switch p := recover().(type) {
	case nil:
	case runtime.Error:
		*err = fmt.Errorf("%w: %v\n%s", joincore.ErrInvalid, p, debug.Stack())
	default:
		*err = fmt.Errorf("join failed: %v\n%s", p, debug.Stack())
	}
}

// PanicOnFault makes a fault of the calling goroutine on input data a panic,
// which Recover takes. Extents are sealed and allocated, so that this is the
// last resort.
func PanicOnFault() { debug.SetPanicOnFault(true) }
