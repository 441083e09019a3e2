package planjson

import (
	"fmt"
	"math"

	"gpujoin/joincore"
)

func (j *Job) addInputs(inputs []wireInput) error {
	if len(inputs) == 0 || len(inputs) > MaxInputs {
		return fmt.Errorf("static.inputs: has %d inputs, must have 1 to %d", len(inputs), MaxInputs)
	}
	for i := range inputs {
		if err := j.addInput(&inputs[i]); err != nil {
			return fmt.Errorf("static.inputs[%d]: %w", i, err)
		}
	}
	return nil
}

func (j *Job) addInput(w *wireInput) error {
	if w.Feed != "page" && w.Feed != "child" {
		return fmt.Errorf("feed: must be page or child, not %q", w.Feed)
	}
	if !estimate(w.Rows) || !estimate(w.RowBytes) {
		return fmt.Errorf("rows, row_bytes: must be finite and not negative")
	}
	if len(w.Columns) == 0 || len(w.Columns) > MaxColumns {
		return fmt.Errorf("columns: has %d columns, must have 1 to %d", len(w.Columns), MaxColumns)
	}
	in := Input{Database: w.Database, Relation: w.Relation, Name: w.Name, Feed: w.Feed, RowBytes: w.RowBytes}
	physical := joincore.Input{Rows: w.Rows}
	for i := range w.Columns {
		c := &w.Columns[i]
		p, err := c.physical()
		if err != nil {
			return fmt.Errorf("columns[%d]: %w", i, err)
		}
		if c.Role != "value" && c.Role != "key" {
			return fmt.Errorf("columns[%d]: role: must be value or key, not %q", i, c.Role)
		}
		physical.Columns = append(physical.Columns, p)
		in.Columns = append(in.Columns, Column{
			Attnum: c.Attnum, Type: c.Type, Typmod: c.Typmod, Collation: c.Collation, KeyOnly: c.Role == "key",
		})
	}
	j.Inputs = append(j.Inputs, in)
	j.plan.Inputs = append(j.plan.Inputs, physical)
	return nil
}

func (c *wireColumn) physical() (joincore.Column, error) {
	switch c.Encoding {
	case "fixed":
		column := joincore.Column{Kind: joincore.Fixed, Width: c.Width, Align: c.Align}
		if !column.IsInt() && (c.Width <= 0 || c.Width > 64 || c.Width%8 != 0) {
			return joincore.Column{}, fmt.Errorf("width: a fixed column cannot have %d bytes", c.Width)
		}
		if c.Align != 1 && c.Align != 2 && c.Align != 4 && c.Align != 8 {
			return joincore.Column{}, fmt.Errorf("align: must be 1, 2, 4 or 8, not %d", c.Align)
		}
		return column, nil
	case "varlena":
		if c.Width != 0 || (c.Align != 4 && c.Align != 8) {
			return joincore.Column{}, fmt.Errorf("a varlena column must have width 0 and align 4 or 8, not %d and %d", c.Width, c.Align)
		}
		return joincore.Column{Kind: joincore.Varlena, Align: c.Align}, nil
	}
	return joincore.Column{}, fmt.Errorf("encoding: must be fixed or varlena, not %q", c.Encoding)
}

func estimate(f float64) bool { return f >= 0 && !math.IsInf(f, 1) }
