package device

import (
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"

	"gpujoin/joincore"
)

// Panic is a panic that became an error. Its message has one line; the stack
// is for logs.
type Panic struct {
	Value any
	Stack []byte
	cause error
}

func (p *Panic) Error() string { return fmt.Sprintf("%v: %v", p.cause, p.Value) }

// Unwrap returns ErrInvalid where the run-time system refused an access.
func (p *Panic) Unwrap() error { return p.cause }

var errPanic = errors.New("join failed")

// Recover is deferred by every goroutine that touches input data: a panic
// becomes its error. An index out of range means that data contradicts its
// description, or changed while it was read; the process must outlive both.
func Recover(err *error) {
	switch p := recover().(type) {
	case nil:
	case runtime.Error:
		*err = &Panic{Value: p, Stack: debug.Stack(), cause: joincore.ErrInvalid}
	default:
		*err = &Panic{Value: p, Stack: debug.Stack(), cause: errPanic}
	}
}

// PanicOnFault makes a fault of the calling goroutine on input data a panic,
// which Recover takes. Extents are sealed and allocated, so that this is the
// last resort.
func PanicOnFault() { debug.SetPanicOnFault(true) }
