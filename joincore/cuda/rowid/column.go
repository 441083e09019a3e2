//go:build cuda

package rowid

import (
	"fmt"

	"gpujoin/joincore"
	"gpujoin/joincore/cuda/driver"
	"gpujoin/joincore/cuda/kernels"
)

// Column is a column of an input as the rows of a space see it.
type Column struct {
	Values    driver.Ptr // aligned as its values: Width bytes a row of the input; spans (16 bytes, see Queue.Spans) where Width is 0
	Validity  driver.Ptr // a byte a row of the input, 0: NULL; 0: there are no NULLs
	Positions driver.Ptr // uint32 a row of the space: its row of the input, or None; 0: row i of the space is row i of the input
	Width     int        // bytes: 1, 2, 4, or a multiple of 8 up to 64; 0: variable length
	// Optional says that some Positions may be None.
	Optional bool
	// Missing says that the space does not cover the column's input, so that
	// it reads as NULL. The other fields are then unused.
	Missing bool
}

// nullable says whether a row may be NULL.
func (c *Column) nullable() bool { return c.Validity != 0 || c.Optional || c.Missing }

// Lookup finds a column for the rows of a space.
type Lookup func(joincore.ColumnRef) (Column, error)

// Side is a space with what finds its columns.
type Side struct {
	Rows   int64
	Lookup Lookup
}

// check refuses more rows than there are row numbers.
func (s *Side) check() error {
	if s.Rows < 0 || s.Rows > kernels.MaxRows {
		return fmt.Errorf("space of %d rows, %d are possible: %w", s.Rows, int64(kernels.MaxRows), joincore.ErrUnsupported)
	}
	return nil
}
