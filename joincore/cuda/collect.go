//go:build cuda

package cuda

import (
	"context"
	"slices"

	"gpujoin/joincore"
	"gpujoin/joincore/cuda/driver"
	"gpujoin/joincore/cuda/rowid"
	"gpujoin/joincore/device"
)

// collection gathers spaces in the heap, because collected rows outlive the
// steps that produced them.
type collection struct {
	e      *execution
	keep   device.Keep
	rows   int64
	parts  []*space // each has memory of its own
	memory rowid.Owned
}

// Collect starts a collection.
func (e *execution) Collect(_ context.Context, keep device.Keep) (device.Collection, error) {
	return &collection{e: e, keep: keep, memory: rowid.Owned{Memory: e.workspace}}, nil
}

// Append copies row ids, and the values of columns stored without row ids.
func (c *collection) Append(ctx context.Context, s device.Space) error {
	from := c.e.space(s)
	if from.rows == 0 {
		return nil
	}
	part := c.e.workspace.newSpace(from.rows)
	for _, input := range keptInputs(c.keep) {
		m, ok := from.members[input]
		if !ok {
			continue
		}
		to, err := c.memory.Alloc(4 * from.rows)
		if err != nil {
			return err
		}
		if err := c.copyNumbers(ctx, to, m, from); err != nil {
			return err
		}
		part.members[input] = member{view: c.e.inputs[input].all, positions: to, optional: m.optional}
	}
	for _, ref := range slices.Concat(c.keep.Columns, c.keep.Late) {
		from, ok := from.carried[ref]
		if _, numbered := part.members[ref.Input]; !ok || numbered {
			continue
		}
		column, err := c.copyValues(from, part.rows)
		if err != nil {
			return err
		}
		part.carried[ref] = column
	}
	c.rows += part.rows
	c.parts = append(c.parts, part)
	return nil
}

// copyNumbers copies row numbers, as those of all rows of the input.
func (c *collection) copyNumbers(ctx context.Context, to driver.Ptr, m member, from *space) error {
	q := c.e.workspace.main
	rows, err := m.view.rowsOnDevice(ctx, q.Stream())
	switch {
	case err != nil:
		return err
	case m.positions != 0:
		return q.Compose(m.positions, rows, from.rows, to)
	case rows != 0:
		return q.Stream().Copy(to, rows, 4*from.rows)
	}
	return q.Number(0, 0, from.rows, to)
}

func (c *collection) copyValues(from rowid.Column, rows int64) (rowid.Column, error) {
	out, err := c.newValues(rows, from.Width, from.Validity != 0 || from.Optional)
	if err != nil {
		return out, err
	}
	return out, c.e.workspace.main.Gather(from, 0, rows, out.Values, out.Validity)
}

func (c *collection) newValues(rows int64, width int, nullable bool) (out rowid.Column, err error) {
	out.Width = width
	if out.Values, err = c.memory.Alloc(rows * int64(width)); err == nil && nullable {
		out.Validity, err = c.memory.Alloc(rows)
	}
	return out, err
}

// Space concatenates the parts. If a part lacks an input or a column, its rows
// are NULL there.
func (c *collection) Space(ctx context.Context) (device.Space, error) {
	out, parts := c.e.workspace.newSpace(c.rows), c.memory
	if len(c.parts) == 1 {
		out = c.parts[0]
	} else {
		c.memory = rowid.Owned{Memory: c.e.workspace}
		err := c.concat(ctx, out)
		parts.Release()
		if err != nil {
			return nil, err
		}
	}
	own := c.memory
	c.memory, c.parts = rowid.Owned{}, nil
	out.free = own.Release
	return out, nil
}

func (c *collection) concat(ctx context.Context, out *space) error {
	for _, part := range c.parts {
		for input := range part.members {
			if _, done := out.members[input]; !done {
				if err := c.concatNumbers(out, input); err != nil {
					return err
				}
			}
		}
		for ref := range part.carried {
			if _, done := out.carried[ref]; !done {
				if err := c.concatValues(ctx, out, ref); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (c *collection) concatNumbers(out *space, input int) error {
	all, err := c.memory.Alloc(4 * c.rows)
	if err != nil {
		return err
	}
	st, at, optional := c.e.workspace.main.Stream(), all, false
	for _, part := range c.parts {
		bytes := 4 * part.rows
		m, ok := part.members[input]
		if ok {
			optional = optional || m.optional
			err = st.Copy(at, m.positions, bytes)
		} else {
			optional = true
			err = st.Memset(at, 0xff, bytes)
		}
		if err != nil {
			return err
		}
		at += driver.Ptr(bytes)
	}
	out.members[input] = member{view: c.e.inputs[input].all, positions: all, optional: optional}
	return nil
}

// concatValues fetches the values of a part by row id if the part does not hold
// them: a join may have moved them in some of its spaces only.
func (c *collection) concatValues(ctx context.Context, out *space, ref joincore.ColumnRef) error {
	columns, nullable := make([]rowid.Column, len(c.parts)), false
	for i, part := range c.parts {
		column, err := c.e.lookup(ctx, part, c.e.workspace.main.Stream())(ref)
		if err != nil {
			return err
		}
		columns[i] = column
		nullable = nullable || column.Validity != 0 || column.Optional || column.Missing
	}
	all, err := c.newValues(c.rows, c.e.describe(ref).Width, nullable)
	if err != nil {
		return err
	}
	row := int64(0)
	for i, part := range c.parts {
		valid := all.Validity
		if valid != 0 {
			valid += driver.Ptr(row)
		}
		if err := c.e.workspace.main.Gather(columns[i], 0, part.rows, all.Values+driver.Ptr(row*int64(all.Width)), valid); err != nil {
			return err
		}
		row += part.rows
	}
	out.carried[ref] = all
	return nil
}

// Release frees the parts that no space has taken over.
func (c *collection) Release() {
	c.memory.Release()
	c.parts = nil
}
