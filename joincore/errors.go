package joincore

import (
	"errors"
	"fmt"
)

// Errors of an execution, wrapped with details.
var (
	// ErrBudget: the job needs more memory than it may use.
	ErrBudget = errors.New("memory budget exceeded")
	// ErrRowTooWide: one result row does not fit an empty batch.
	ErrRowTooWide = errors.New("a result row does not fit into a batch")
	// ErrUnsupported: the provider does not support a part of the plan.
	ErrUnsupported = errors.New("not supported")
	// ErrInvalid: the data contradicts its description.
	ErrInvalid = errors.New("invalid input data")
	// ErrArithmetic: SQL would perhaps report an error for a value. The result
	// of the plan is not usable.
	ErrArithmetic = errors.New("a value is out of range, not a number, or divided by zero")
	// ErrChanged is an ErrInvalid: two readings of an input differ.
	ErrChanged = fmt.Errorf("input changed while it was read: %w", ErrInvalid)
)

// Final reports whether the query or its data are the cause of an error: every provider
// would fail with it.
func Final(err error) bool {
	return errors.Is(err, ErrRowTooWide) || errors.Is(err, ErrInvalid) || errors.Is(err, ErrArithmetic)
}
