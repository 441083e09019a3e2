//go:build cuda

package rowid

import (
	"context"

	"gpujoin/joincore"
	"gpujoin/joincore/cuda/driver"
	"gpujoin/joincore/program"
)

// condition compiles the equalities same and the condition e for pairs of a
// build and a probe row and copies the program to the device. build is nil for
// a filter, whose rows are probe rows.
func (q *Queue) condition(ctx context.Context, same []program.Same, e joincore.Expr, parameters []joincore.Parameter, probe, build *Side) (driver.Ptr, error) {
	var failed error
	find := func(s *Side, c joincore.ColumnRef) bool {
		if s == nil {
			return false
		}
		column, err := s.Lookup(c)
		if err != nil {
			failed = err
		}
		return err == nil && !column.Missing
	}
	p, err := program.New(same, e, parameters, func(c joincore.ColumnRef) program.Where {
		switch {
		case find(build, c):
			return program.Build
		case find(probe, c):
			return program.Probe
		}
		return program.Nowhere
	})
	if err != nil {
		return 0, err
	}
	if failed != nil {
		return 0, failed
	}
	columns := make([]ColumnDescriptor, len(p.Columns))
	for i, o := range p.Columns {
		side := build
		if o.Probe {
			side = probe
		}
		c, err := side.Lookup(o.Column)
		if err != nil {
			return 0, err
		}
		columns[i] = c.Descriptor(o.Probe)
	}
	var at [3]driver.Ptr
	for i, part := range []any{p.Code, columns, p.Constants} {
		if at[i], err = q.upload(ctx, part); err != nil {
			return 0, err
		}
	}
	return q.upload(ctx, programDescriptor{Code: uint64(at[0]), Length: uint64(len(p.Code)), Columns: uint64(at[1]), Constants: uint64(at[2])})
}

// Descriptor returns the column as kernels read it; probe: of the probe side.
func (c *Column) Descriptor(probe bool) ColumnDescriptor {
	d := ColumnDescriptor{Values: uint64(c.Values), Validity: uint64(c.Validity), Positions: uint64(c.Positions), Width: uint64(c.Width)}
	if probe {
		d.Probe = 1
	}
	return d
}
