//go:build cuda

package columndata

import (
	"flag"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Flags defines flags that describe a case. The returned function gives that case after
// parsing, or nil if neither side was given rows.
func Flags(f *flag.FlagSet) func() (*Case, error) {
	build := f.Int64("build", 0, "a case of one's own: build rows")
	probe := f.Int64("probe", 0, "probe rows")
	key := f.Int("key", 4, "bytes of a key")
	buildWidths := f.String("build-widths", "4,4", "bytes of each build payload column, by commas; - for none")
	probeWidths := f.String("probe-widths", "4,4", "bytes of each probe payload column")
	match := f.Float64("match", 1, "probe rows with a match")
	duplicates := f.Int64("duplicates", 1, "build rows of each key")
	zipf := f.Float64("zipf", 0, "Zipf factor of the probe keys")
	dense := f.Bool("dense", false, "build keys are a permutation of 0, 1, 2, ..., not spread over the key's width")
	return func() (*Case, error) {
		if *build == 0 && *probe == 0 {
			var given error
			f.Visit(func(set *flag.Flag) {
				if slices.Contains(describing, set.Name) {
					given = fmt.Errorf("-%s has no effect without -build and -probe", set.Name)
				}
			})
			return nil, given
		}
		if *key != 4 && *key != 8 {
			return nil, fmt.Errorf("-key %d: keys have 4 or 8 bytes", *key)
		}
		if *build < 1 || *probe < 1 || *match <= 0 || *match > 1 || *duplicates < 1 || *zipf < 0 {
			return nil, fmt.Errorf("a case has at least one row a side, a match ratio above 0 and up to 1, one build row of a key, and a Zipf factor from 0 on")
		}
		b, err := widths(*buildWidths)
		if err != nil {
			return nil, err
		}
		p, err := widths(*probeWidths)
		if err != nil {
			return nil, err
		}
		c := &Case{Build: *build, Probe: *probe, Key: *key, BuildWidths: b, ProbeWidths: p, Distinct: max(*build / *duplicates, 1), Zipf: *zipf, Dense: *dense}
		c.Domain = int64(math.Round(float64(c.Distinct) / *match))
		return c, nil
	}
}

// describing are the flags that say more of a case than its rows.
var describing = []string{"key", "build-widths", "probe-widths", "match", "duplicates", "zipf", "dense"}

// widths reads widths of columns.
func widths(list string) (w []int, err error) {
	if list == "" || list == "-" {
		return nil, nil
	}
	for text := range strings.SplitSeq(list, ",") {
		n, err := strconv.Atoi(text)
		if err != nil {
			return nil, fmt.Errorf("widths %q: %w", list, err)
		}
		if !slices.Contains([]int{1, 2, 4, 8, 16}, n) {
			return nil, fmt.Errorf("widths %q: values of %d bytes; they have 1, 2, 4, 8 or 16", list, n)
		}
		w = append(w, n)
	}
	return w, nil
}
