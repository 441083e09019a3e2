package joincore

import "errors"

// Errors of an execution. They are wrapped with the object they concern.
var (
	// ErrBudget: memory that the job needs is more than it may have.
	ErrBudget = errors.New("memory budget exceeded")
	// ErrRowTooWide: one result row does not fit an empty batch.
	ErrRowTooWide = errors.New("result row does not fit a batch")
	// ErrUnsupported: the plan asks for what the provider does not do.
	ErrUnsupported = errors.New("not supported")
	// ErrInvalid: the data contradicts its description.
	ErrInvalid = errors.New("invalid input data")
	// ErrArithmetic: SQL would perhaps report an error for a value. The result
	// of the plan is not usable.
	ErrArithmetic = errors.New("a value is out of range, not a number, or divided by zero")
)
