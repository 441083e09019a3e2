// Package gje times the executables of GPU-Joins-Evaluation, the code of the
// GFTR paper, on the sizes of bench-gpu's cases, and compares.
//
// Their timing differs from bench-gpu's; Footer says how. The executables generate data
// on the host with all cores, keep columns of 128 MiB or more in a folder, and take
// 96 GiB of device memory, so other programs must leave that free. They check neither
// CUDA errors nor results; this package compares their row counts.
package gje

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
)

// Case is one of bench-gpu's joins. Sizes are rows, widths bytes.
type Case struct {
	Name                     string
	Build, Probe             int64
	Key                      int
	BuildWidths, ProbeWidths []int
	Distinct                 int64   // keys of the build side
	Domain                   int64   // keys from which the probe side draws
	Zipf                     float64 // exponent of that distribution, 0: uniform
}

// algorithms maps bench-gpu's names to the values of the executables' option -i.
var algorithms = []struct{ ours, theirs string }{{"phj-om", "shj"}, {"phj-um", "phj"}, {"smj-om", "smj"}, {"smj-um", "smji"}}

// mostRows is the largest size in their own experiments: rows are ints, and
// keys without a match are above 2^30.
const mostRows = 1 << 30

// check returns why the executables cannot run a case, or nil.
func (c *Case) check() error {
	widths := slices.Concat(c.BuildWidths, c.ProbeWidths)
	b, p := len(c.BuildWidths), len(c.ProbeWidths)
	switch {
	case c.Build > mostRows || c.Probe > mostRows:
		return errors.New("they join up to 2^30 rows")
	case b < 1 || p < 1 || b > 6 || p > 6 || b != p && b != 1 && p != 1:
		return errors.New("they have no such numbers of payload columns")
	case slices.Min(widths) != slices.Max(widths) || !slices.Contains([]string{"4b4b", "4b8b", "8b8b"}, c.widths()):
		return errors.New("they have no such widths")
	case c.Distinct != c.Build:
		return errors.New("the results of their many-to-many joins wrap round in a buffer")
	case c.Domain%c.Distinct != 0 || c.oneIn() >= c.Build:
		return errors.New("their match ratio is 1 in a whole number")
	case c.oneIn() > 1 && c.Zipf > 0:
		return errors.New("their match ratio is of uniform keys")
	}
	return nil
}

// oneIn is the number of probe rows per row with a match. The executables
// change all but one of that many build keys so that they match nothing.
func (c *Case) oneIn() int64 { return c.Domain / c.Distinct }

// matches is the expected number of result rows: the executables repeat the
// build keys on the probe side and shuffle them.
func (c *Case) matches() int64 {
	kept := func(keys int64) int64 { return (keys + c.oneIn() - 1) / c.oneIn() }
	if c.Zipf > 0 {
		return c.Probe
	}
	return c.Probe/c.Build*kept(c.Build) + kept(c.Probe%c.Build)
}

func (c *Case) widths() string { return fmt.Sprintf("%db%db", c.Key, c.BuildWidths[0]) }

func (c *Case) program() string { return "join_exp_" + c.widths() }

// arguments returns an executable's arguments. It keeps its data and its table
// of times in the folder. Radix bits are those of their experiments.
func (c *Case) arguments(algorithm, folder string) []string {
	distribution := []string{"-d", "uniform"}
	if c.Zipf > 0 {
		distribution = []string{"-d", "zipf", "-z", strconv.FormatFloat(c.Zipf, 'f', -1, 64)}
	}
	second := 6
	if c.Build >= 1<<28 {
		second = 7
	}
	return slices.Concat([]string{
		"-r", fmt.Sprint(c.Build), "-s", fmt.Sprint(c.Probe), "-m", fmt.Sprint(len(c.BuildWidths)), "-n", fmt.Sprint(len(c.ProbeWidths)), "-t", "pkfk",
	}, distribution, []string{
		"-e", fmt.Sprint(c.oneIn()), "-i", algorithm, "-p", "9", "-q", fmt.Sprint(second),
		"-f", folder + string(filepath.Separator), "-o", filepath.Join(folder, "times.csv"),
	})
}
