package planjson

import (
	"fmt"

	"gpujoin/joincore"
)

// addFilters adds the filters of the job. Each must leave the result as it is, and
// no input may wait for itself.
func (j *Job) addFilters(list []wireFilter) error {
	if len(list) > MaxFilters {
		return fmt.Errorf("static.filters: has %d filters, may have at most %d", len(list), MaxFilters)
	}
	for i := range list {
		f, err := j.keyFilter(&list[i])
		if err != nil {
			return fmt.Errorf("static.filters[%d]: %w", i, err)
		}
		j.Filters = append(j.Filters, f)
	}
	return j.feedOrder()
}

func (j *Job) keyFilter(w *wireFilter) (f Filter, err error) {
	if f.Source, err = j.inputColumn(w.Source); err != nil {
		return f, fmt.Errorf("source: %w", err)
	}
	if f.Target, err = j.inputColumn(w.Target); err != nil {
		return f, fmt.Errorf("target: %w", err)
	}
	if !joincore.CanFilter(j.plan.Root, f.Source, f.Target) {
		return f, fmt.Errorf("a row of the target without its key in the source may be part of the result")
	}
	return f, nil
}

// inputColumn returns a column of a base input.
func (j *Job) inputColumn(w *wireRef) (joincore.ColumnRef, error) {
	c, err := column(w)
	switch {
	case err != nil:
	case c.Input < 0 || c.Input >= len(j.Inputs):
		err = fmt.Errorf("there is no input %d", c.Input)
	case c.Column < 0 || c.Column >= len(j.plan.Inputs[c.Input].Columns):
		err = fmt.Errorf("input %d has no column %d", c.Input, c.Column)
	}
	return c, err
}

// feedOrder fails if the inputs cannot be fed one after the other, each one after
// the sources of its filters.
func (j *Job) feedOrder() error {
	fed := make([]bool, len(j.Inputs))
	for range fed {
		for i := range fed {
			fed[i] = fed[i] || j.ready(i, fed)
		}
	}
	for i := range fed {
		if !fed[i] {
			return fmt.Errorf("static.filters: input %d is its own source by way of others", i)
		}
	}
	return nil
}

// ready reports whether all sources of the input's filters have been fed.
func (j *Job) ready(input int, fed []bool) bool {
	for _, f := range j.Filters {
		if f.Target.Input == input && !fed[f.Source.Input] {
			return false
		}
	}
	return true
}
