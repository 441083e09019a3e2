package report

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"gpujoin/tests/bench/record"
	"gpujoin/tests/measure"
)

// recorded are the documents of a directory of results, in the order of their paths.
type recorded []*measure.Document

// read reads all results below a directory. Each must be where record writes it.
func read(results string) (list recorded, err error) {
	paths, err := filepath.Glob(filepath.Join(results, "*", "*"))
	if err != nil {
		return nil, err
	}
	for _, path := range paths {
		d, err := measure.Read(path)
		if err != nil {
			return nil, err
		}
		if want := record.Path(results, d); want != path {
			return nil, fmt.Errorf("%s has the content of %s", path, want)
		}
		if !d.Complete {
			return nil, fmt.Errorf("%s is of a run that did not finish", path)
		}
		list = append(list, d)
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("%s: %w", results, os.ErrNotExist)
	}
	return list, nil
}

// of returns the documents of a directory, the newest first.
func (all recorded) of(directory string) (list recorded) {
	for _, d := range all {
		if d.Directory() == directory {
			list = append(list, d)
		}
	}
	slices.SortStableFunc(list, func(a, b *measure.Document) int { return b.Date.Compare(a.Date) })
	return list
}

// newest returns the newest document of a directory, nil if there is none.
func (all recorded) newest(directory string) *measure.Document {
	if list := all.of(directory); len(list) > 0 {
		return list[0]
	}
	return nil
}

// with returns the documents in which a result satisfies a condition.
func (all recorded) with(ok func(measure.Result) bool) (list recorded) {
	for _, d := range all {
		if slices.ContainsFunc(d.Results, ok) {
			list = append(list, d)
		}
	}
	return list
}

// pair returns the newest documents of two directories, of one machine if there is any that
// has both.
func (all recorded) pair(first, second string) (a, b *measure.Document) {
	for _, a := range all.of(first) {
		for _, b := range all.of(second) {
			if a.Machine.ID == b.Machine.ID {
				return a, b
			}
		}
	}
	return all.newest(first), all.newest(second)
}

// compared is an engine compared with another one, over the names that both finished.
type compared struct {
	mean  float64 // geometric mean of the other's times by those of the engine
	sum   float64 // seconds of the engine
	count int
}

// compare compares engines of two documents of one suite.
func compare(base *measure.Document, engine string, d *measure.Document, by string) (c compared) {
	var g measure.GeometricMean
	for _, name := range base.Names() {
		a, b := base.Find(name, engine), d.Find(name, by)
		if a == nil || b == nil || len(a.Ms) == 0 || len(b.Ms) == 0 {
			continue
		}
		g.Add(a.Median(), b.Median())
		c.sum += b.Median() / 1000
	}
	c.mean, c.count = g.Value(), g.Count()
	return c
}

// describe describes a document's machine, date and commit for readers.
func describe(d *measure.Document) string {
	text := fmt.Sprintf("%s, %d cores", d.Machine.CPU, d.Machine.Cores)
	if d.Machine.MemoryGiB > 0 {
		text += fmt.Sprintf(", %g GiB", d.Machine.MemoryGiB)
	}
	switch n := len(d.Machine.GPUs); {
	case n == 1:
		text += ", " + d.Machine.GPUs[0]
	case n > 1:
		text += fmt.Sprintf(", %d GPUs, the first one: %s", n, d.Machine.GPUs[0])
	}
	return fmt.Sprintf("%s; %s; commit %s", text, d.Date.Format("2006-01-02"), d.Commit)
}
