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
)
