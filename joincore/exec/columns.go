package exec

import (
	"maps"
	"slices"

	"gpujoin/joincore"
)

// columns is a set of columns that operators above still need.
type columns map[joincore.ColumnRef]bool

func newColumns(refs []joincore.ColumnRef) columns {
	c := columns{}
	c.add(refs...)
	return c
}

// with returns the set with more columns.
func (c columns) with(refs ...joincore.ColumnRef) columns {
	out := maps.Clone(c)
	out.add(refs...)
	return out
}

// add adds columns to the set itself.
func (c columns) add(refs ...joincore.ColumnRef) {
	for _, r := range refs {
		c[r] = true
	}
}

// of returns the columns of some inputs, in a stable order.
func (c columns) of(inputs []int) []joincore.ColumnRef {
	var out []joincore.ColumnRef
	for r := range c {
		if slices.Contains(inputs, r.Input) {
			out = append(out, r)
		}
	}
	slices.SortFunc(out, func(a, b joincore.ColumnRef) int {
		if a.Input != b.Input {
			return a.Input - b.Input
		}
		return a.Column - b.Column
	})
	return out
}

// inputsOf returns the inputs that the columns belong to, each once.
func inputsOf(refs []joincore.ColumnRef) []int {
	var out []int
	for _, r := range refs {
		if !slices.Contains(out, r.Input) {
			out = append(out, r.Input)
		}
	}
	return out
}
