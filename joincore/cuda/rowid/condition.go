//go:build cuda

package rowid

import (
	"context"
	"slices"

	"gpujoin/joincore"
	"gpujoin/joincore/cuda/driver"
	"gpujoin/joincore/program"
)

// condition compiles the equalities same and the condition e for pairs of a
// build and a probe row and copies the program to the device. build is nil for
// a filter, whose rows are probe rows. failed is a word that becomes 1 where a
// result is out of range.
func (q *Queue) condition(ctx context.Context, same []program.Same, e joincore.Expr, parameters []joincore.Parameter, probe, build *Side, failed driver.Ptr) (driver.Ptr, error) {
	p, columns, err := compile(probe, build, parameters, func(rows program.Rows) (*program.Program, error) { return program.New(same, e, rows) })
	if err != nil {
		return 0, err
	}
	d, err := q.programOf(ctx, p, columns, failed)
	if err != nil {
		return 0, err
	}
	return q.upload(ctx, d)
}

// compile compiles for the columns that sides have, and describes those that the
// program reads.
func compile(probe, build *Side, parameters []joincore.Parameter, of func(program.Rows) (*program.Program, error)) (*program.Program, []ColumnDescriptor, error) {
	var failed error
	find := func(ref joincore.ColumnRef) (Column, program.Where) {
		c := Column{Missing: true}
		for i, s := range []*Side{build, probe} {
			if s == nil {
				continue
			}
			found, err := s.Lookup(ref)
			if err != nil {
				failed = err
			}
			if err != nil || found.Missing {
				c.Width = found.Width
				continue
			}
			return found, []program.Where{program.Build, program.Probe}[i]
		}
		return c, program.Nowhere
	}
	p, err := of(program.Rows{
		Where: func(ref joincore.ColumnRef) program.Where {
			_, w := find(ref)
			return w
		},
		Column: func(ref joincore.ColumnRef) joincore.Column {
			c, _ := find(ref)
			if c.Width == 0 {
				return joincore.Column{Kind: joincore.Varlena}
			}
			return joincore.Column{Kind: joincore.Fixed, Width: c.Width}
		},
		Parameters: parameters,
	})
	if failed != nil {
		return nil, nil, failed
	}
	if err != nil {
		return nil, nil, err
	}
	columns := make([]ColumnDescriptor, len(p.Columns))
	for i, o := range p.Columns {
		c, _ := find(o.Column)
		columns[i] = c.Descriptor(o.Probe)
	}
	return p, columns, failed
}

// programOf copies the parts of a program to the device and describes it.
func (q *Queue) programOf(ctx context.Context, p *program.Program, columns []ColumnDescriptor, failed driver.Ptr) (programDescriptor, error) {
	d := programDescriptor{Length: uint64(len(p.Code)), ColumnCount: uint64(len(columns)), Slots: uint64(p.Slots), Failed: uint64(failed)}
	for _, part := range []struct {
		list any
		at   *uint64
	}{{append(slices.Clone(p.Code), 0), &d.Code}, {columns, &d.Columns}, {p.Constants, &d.Constants}} {
		at, err := q.upload(ctx, part.list)
		if err != nil {
			return d, err
		}
		*part.at = uint64(at)
	}
	return d, nil
}

// Descriptor returns the column as kernels read it; probe: of the probe side.
func (c *Column) Descriptor(probe bool) ColumnDescriptor {
	return ColumnDescriptor{
		Values: uint64(c.Values), Validity: uint64(c.Validity), Positions: uint64(c.Positions), Width: uint64(c.Width), Probe: wordOf(probe),
	}
}
