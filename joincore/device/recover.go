package device

import (
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"

	"gpujoin/joincore"
)

// Panic is a panic turned into an error. Its message is one line; Stack is for logs.
type Panic struct {
	Value any
	Stack []byte
	cause error
}

func (p *Panic) Error() string { return fmt.Sprintf("%v: %v", p.cause, p.Value) }

// Unwrap returns ErrInvalid if the run-time system refused an access.
func (p *Panic) Unwrap() error { return p.cause }

var errPanic = errors.New("join failed")

// Recover turns a panic into an error; every goroutine that touches input data defers
// it. An index out of range means that the data contradicts its description, or
// changed while it was read; the process must survive both.
func Recover(err *error) {
	switch p := recover().(type) {
	case nil:
	case runtime.Error:
		*err = &Panic{Value: p, Stack: debug.Stack(), cause: joincore.ErrInvalid}
	default:
		*err = &Panic{Value: p, Stack: debug.Stack(), cause: errPanic}
	}
}

// PanicOnFault turns a memory fault of the calling goroutine into a panic, which
// Recover handles. Extents are sealed and allocated, so this is a last resort.
func PanicOnFault() { debug.SetPanicOnFault(true) }

// sticky is an error after which a device no longer works.
type sticky interface {
	error
	Sticky() bool
}

// losable is a provider that can tell whether its device still works.
type losable interface {
	// Lost returns the error by which the device was lost, or nil.
	Lost() error
}

// Lost returns the error by which p's device was lost, or nil. err is the error of an
// execution on p. Only a new process recovers from a loss.
func Lost(p Provider, err error) error {
	if l, ok := p.(losable); ok {
		if lost := l.Lost(); lost != nil {
			return lost
		}
	}
	var s sticky
	if errors.As(err, &s) && s.Sticky() {
		return err
	}
	return nil
}
