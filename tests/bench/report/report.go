// Package report makes the documents that show recorded results: docs/benchmarks.md with its
// plots, and the regions of other pages that have figures. They depend on bench/results alone:
// make bench-report.
package report

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"gpujoin/tests/harness"
	"gpujoin/tests/measure"
)

// Run writes the documents, or checks that they are what it would write.
func Run(_ context.Context, flags *flag.FlagSet, args []string) error {
	check := flags.Bool("check", false, "fail if the documents differ from the results, and write nothing")
	if err := flags.Parse(args); err != nil {
		return err
	}
	root, err := harness.Root()
	if err != nil {
		return err
	}
	if *check {
		return Check(root)
	}
	files, err := Make(root)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, files[name], 0o644); err != nil {
			return err
		}
		fmt.Println(name)
	}
	return nil
}

// Check returns an error that names the documents which differ from the results.
func Check(root string) error {
	files, err := Make(root)
	if err != nil {
		return err
	}
	var wrong []error
	for _, name := range slices.Sorted(maps.Keys(files)) {
		there, err := os.ReadFile(filepath.Join(root, name))
		switch {
		case err != nil:
			wrong = append(wrong, err)
		case !bytes.Equal(there, files[name]):
			wrong = append(wrong, fmt.Errorf("%s is not what bench/results says; run make bench-report", name))
		}
	}
	plots, err := filepath.Glob(filepath.Join(root, images, "*.svg"))
	for _, path := range plots {
		name := filepath.Join(images, filepath.Base(path))
		if _, made := files[name]; !made && slices.Contains(plotNames, filepath.Base(path)) {
			wrong = append(wrong, fmt.Errorf("%s has no results; remove it", name))
		}
	}
	return errors.Join(append(wrong, err)...)
}

const images = "docs/images"

// Plots, by the files below images.
const (
	tpchPlot  = "tpch.svg"
	rowsPlot  = "rows.svg"
	sharePlot = "shares.svg"
)

var plotNames = []string{tpchPlot, rowsPlot, sharePlot}

// Make returns the content of all documents, by their paths in the repository at root. It
// depends on the results and, in most pages, on the text around their regions.
func Make(root string) (map[string][]byte, error) {
	all, err := read(filepath.Join(root, "bench", "results"))
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	fed, kept := all.pair("tpch-sf1", "tpch-kept-sf1")
	if list := tpchSeries(fed, kept); len(list) > 0 {
		files[filepath.Join(images, tpchPlot)] = []byte(plotTPCH(list))
	}
	sized := all.with(func(r measure.Result) bool { return r.Engine == measure.Cores && r.Values["input_rows"] > 0 })
	joins, keptJoins := sized.pair("gpu-e2e-sf1", "gpu-e2e-kept-sf1")
	rows := rowSeries(joins, keptJoins)
	if len(rows) > 0 {
		files[filepath.Join(images, rowsPlot)] = []byte(plotRows(rows))
	}
	shares := sharesOf(all)
	if len(shares) > 0 {
		files[filepath.Join(images, sharePlot)] = []byte(plotShares(shares))
	}
	p := page{all: all, fed: fed, kept: kept, joins: joins, keptJoins: keptJoins, rows: rows, shares: shares}
	files["docs/benchmarks.md"] = []byte(p.markdown())
	for name, regions := range p.regions() {
		if files[name], err = fill(root, name, regions); err != nil {
			return nil, err
		}
	}
	return files, nil
}
