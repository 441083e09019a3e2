package planjson

import (
	"fmt"

	"gpujoin/joincore"
)

// filters adds the filters of the job. Each must leave the result as it is, and
// no input may wait for itself.
func (t *tree) filters(list []wireFilter) error {
	if len(list) > MaxFilters {
		return fmt.Errorf("static.filters: has %d filters, may have at most %d", len(list), MaxFilters)
	}
	base := make([]int, len(t.job.Inputs))
	for i := range base {
		base[i] = i
	}
	for i := range list {
		f, err := t.keyFilter(&list[i], base)
		if err != nil {
			return fmt.Errorf("static.filters[%d]: %w", i, err)
		}
		t.job.Filters = append(t.job.Filters, f)
	}
	return t.feedOrder()
}

func (t *tree) keyFilter(w *wireFilter, base []int) (f Filter, err error) {
	if f.Source, err = t.ref(w.Source, base); err != nil {
		return f, fmt.Errorf("source: %w", err)
	}
	if f.Target, err = t.ref(w.Target, base); err != nil {
		return f, fmt.Errorf("target: %w", err)
	}
	if !joincore.CanFilter(t.job.plan.Root, f.Source, f.Target) {
		return f, fmt.Errorf("a row of the target without its key in the source may be part of the result")
	}
	return f, nil
}

// feedOrder fails if the inputs cannot be fed one after the other, each one after
// the sources of its filters.
func (t *tree) feedOrder() error {
	fed := make([]bool, len(t.job.Inputs))
	for range fed {
		for i := range fed {
			fed[i] = fed[i] || t.ready(i, fed)
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
func (t *tree) ready(input int, fed []bool) bool {
	for _, f := range t.job.Filters {
		if f.Target.Input == input && !fed[f.Source.Input] {
			return false
		}
	}
	return true
}
