// Package record keeps results of benchmarks in bench/results, a file for each suite and
// machine: make bench-record. It refuses results that nobody should compare others with.
package record

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"

	"gpujoin/tests/harness"
	"gpujoin/tests/measure"
)

// Run records the result that the arguments name.
func Run(_ context.Context, flags *flag.FlagSet, args []string) error {
	suite := flags.String("suite", "", "name of the file below build, without .json: tpch, bench-join ...")
	file := flags.String("file", "", "another file")
	force := flags.Bool("force", false, "record it although the machine was busy, files differed from the commit, or the recorded result has other parameters")
	if err := flags.Parse(args); err != nil {
		return err
	}
	root, err := harness.Root()
	if err != nil {
		return err
	}
	if (*suite == "") == (*file == "") {
		return errors.New("name a suite or a file: make bench-record SUITE=tpch")
	}
	path := *file
	if path == "" {
		path = filepath.Join(root, "build", filepath.Base(*suite)+".json")
	}
	d, err := measure.Read(path)
	if err != nil {
		return err
	}
	to, err := Record(filepath.Join(root, "bench", "results"), d, *force)
	if err != nil {
		return err
	}
	fmt.Printf("%s\nrecorded as %s; make bench-report updates the documents\n", d, to)
	return nil
}

// Path is where a document is recorded below a directory.
func Path(results string, d *measure.Document) string {
	return filepath.Join(results, d.Directory(), d.Machine.ID+".json")
}

// Record writes a document below a directory and returns its path. Unless forced, the
// document must be of an idle machine and of a commit, and have the parameters of the one
// that it replaces.
func Record(results string, d *measure.Document, force bool) (string, error) {
	path := Path(results, d)
	before, err := measure.Read(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("the recorded result: %w", err)
	}
	if err := wrong(d); err != nil {
		return "", err
	}
	if err := doubtful(d, before); err != nil && !force {
		return "", fmt.Errorf("%w\n-force records it nevertheless", err)
	}
	return path, d.Write(path)
}

// wrong returns why a document can never be recorded.
func wrong(d *measure.Document) error {
	if err := d.Validate(); err != nil {
		return err
	}
	if !d.Complete {
		return errors.New("the run did not finish")
	}
	for _, r := range d.Results {
		if r.Equal != nil && !*r.Equal {
			return fmt.Errorf("%s by %s: the rows are wrong, or a fault ended as it must not", r.Name, r.Engine)
		}
	}
	return nil
}

// doubtful returns what makes a document worse than it should be. before is the recorded one
// of the suite and machine, nil if there is none.
func doubtful(d, before *measure.Document) error {
	var why []error
	load := d.Machine.Load1Before
	if load == nil || *load > measure.IdleLoad {
		text := "not known"
		if load != nil {
			text = fmt.Sprintf("%.2f", *load)
		}
		why = append(why, fmt.Errorf("the load before the run was %s, and must be at most %g", text, measure.IdleLoad))
	}
	if d.Dirty || d.Commit == "unknown" {
		why = append(why, fmt.Errorf("files differed from commit %s", d.Commit))
	}
	if before == nil {
		return errors.Join(why...)
	}
	if before.Date.After(d.Date) {
		why = append(why, fmt.Errorf("the recorded result is newer: %v", before.Date))
	}
	// Of older results, whose load is not known, not all parameters are, either.
	if is, was := parameters(d), parameters(before); before.Machine.Load1Before != nil && !maps.Equal(is, was) {
		why = append(why, fmt.Errorf("the recorded result has the parameters %v, this one %v", was, is))
	}
	return errors.Join(why...)
}

// parameters are those of the data and the work, not how often it was repeated.
func parameters(d *measure.Document) map[string]any {
	p := maps.Clone(d.Parameters)
	delete(p, "runs")
	return p
}
