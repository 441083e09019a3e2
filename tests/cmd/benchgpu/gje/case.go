// Package gje times the executables of GPU-Joins-Evaluation, the code of the
// GFTR paper, on the sizes of bench-gpu's cases, and compares.
//
// What they time is not quite what bench-gpu times; Footer says how it differs.
// They make their data on the host, by all cores, keep what has 128 MiB or more
// in a folder, and take 96 GiB of the device's memory, so nothing else may hold
// much of it. They check no error of CUDA's and no result: the number of rows
// that they return is compared here.
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
	Domain                   int64   // keys that the probe side draws from
	Zipf                     float64 // factor of that, 0: uniform
}

// algorithms are bench-gpu's names and those of the executables' option -i.
var algorithms = []struct{ ours, theirs string }{{"phj-om", "shj"}, {"phj-um", "phj"}, {"smj-om", "smj"}, {"smj-um", "smji"}}

// mostRows is the size up to which their own experiments go: rows are ints, and
// keys without a match are those above 2^30.
const mostRows = 1 << 30

// check says why there is no peer for a case; nil: there is one.
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

// oneIn is the number of probe rows of which one has a match. They take it from
// the build side: of so many of its keys all but one are moved out of the way.
func (c *Case) oneIn() int64 { return c.Domain / c.Distinct }

// matches is the number of rows that they must return: the probe side has all
// build keys in turn, and then shuffles.
func (c *Case) matches() int64 {
	kept := func(keys int64) int64 { return (keys + c.oneIn() - 1) / c.oneIn() }
	if c.Zipf > 0 {
		return c.Probe
	}
	return c.Probe/c.Build*kept(c.Build) + kept(c.Probe%c.Build)
}

func (c *Case) widths() string { return fmt.Sprintf("%db%db", c.Key, c.BuildWidths[0]) }

func (c *Case) program() string { return "join_exp_" + c.widths() }

// arguments are an executable's, which keeps its data and its own table of
// times in a folder. They partition by as many bits as in their experiments.
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
