//go:build cuda

package multi

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"

	"gpujoin/joincore/cuda/mgj"
	"gpujoin/tests/columndata"
	"gpujoin/tests/measure"
)

// axis is a property of joins that a sweep changes, while the others have one value: most of them
// that of sweepBase.
type axis struct {
	name  string
	cases []joinCase
}

// sweepBase returns a join with two columns of 4 bytes a side, changed by f.
func sweepBase(name string, f func(c *joinCase)) joinCase {
	c := joinCase{name: name, Case: columndata.Case{Build: 1 << 26, Probe: 1 << 27, Key: 4, BuildWidths: columns(2, 4), ProbeWidths: columns(2, 4)}}
	f(&c)
	if c.Distinct == 0 {
		c.Distinct = c.Build
	}
	if c.Domain == 0 {
		c.Domain = c.Distinct
	}
	return c
}

// sweepAxes returns what a sweep may change.
func sweepAxes() []axis {
	return []axis{
		along("rows", []int{18, 19, 20, 21, 22, 23, 24, 25, 26, 27}, func(c *joinCase, log int) string {
			c.Build, c.Probe = 1<<log, 2<<log
			return fmt.Sprintf("2^%dx2^%d", log, log+1)
		}),
		along("build", []int{16, 18, 20, 21, 22, 23, 24, 25, 26, 27}, func(c *joinCase, log int) string {
			c.Build = 1 << log
			return fmt.Sprintf("2^%dx2^27", log)
		}),
		along("columns", []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 16}, func(c *joinCase, n int) string {
			c.BuildWidths, c.ProbeWidths = columns(n, 4), columns(n, 4)
			return fmt.Sprintf("%d+%d", n, n)
		}),
		along("build-columns", []int{2, 4, 5, 8, 9, 12, 16}, func(c *joinCase, n int) string {
			c.BuildWidths, c.ProbeWidths = columns(n, 4), columns(1, 4)
			return fmt.Sprintf("%d+1", n)
		}),
		along("probe-columns", []int{2, 4, 5, 8, 9, 12, 16}, func(c *joinCase, n int) string {
			c.BuildWidths, c.ProbeWidths = columns(1, 4), columns(n, 4)
			return fmt.Sprintf("1+%d", n)
		}),
		along("widths", []int{1, 2, 4, 8, 16}, func(c *joinCase, w int) string {
			c.BuildWidths, c.ProbeWidths = columns(2, w), columns(2, w)
			return fmt.Sprintf("2x%dB", w)
		}),
		along("wide-keys", []int{0, 1, 2, 4, 8}, func(c *joinCase, n int) string {
			c.Key, c.BuildWidths, c.ProbeWidths = 8, columns(n, 4), columns(n, 4)
			return fmt.Sprintf("8B-%d+%d", n, n)
		}),
		along("match", []int{1, 2, 4, 16, 64}, func(c *joinCase, n int) string {
			c.Domain = c.Build * int64(n)
			return fmt.Sprintf("match-1/%d", n)
		}),
		along("duplicates", []int{1, 2, 4, 8, 16, 32, 64}, func(c *joinCase, n int) string {
			c.Build, c.Probe = 1<<24, 1<<24
			c.Distinct = c.Build / int64(n)
			return fmt.Sprintf("m:n-%d", n)
		}),
		along("duplicate-keys", []int{1, 2, 4, 8, 16, 32, 64}, func(c *joinCase, n int) string {
			c.Build, c.Probe = 1<<24, 1<<24
			c.BuildWidths, c.ProbeWidths = nil, nil
			c.Distinct = c.Build / int64(n)
			return fmt.Sprintf("m:n-%d-keys", n)
		}),
		along("zipf", []int{0, 25, 50, 75, 100, 125, 150, 175, 200}, func(c *joinCase, percent int) string {
			c.Build, c.Zipf = c.Probe, float64(percent)/100
			return fmt.Sprintf("zipf-%.2f", c.Zipf)
		}),
		along("placed", []int{0, 50, 100, 150, 200}, func(c *joinCase, percent int) string {
			c.placement = float64(percent) / 100
			return fmt.Sprintf("placed-%.2f", c.placement)
		}),
	}
}

// axesOf returns the names of axes that a flag gives, by commas, or "all".
func axesOf(text string) ([]string, error) {
	axes := sweepAxes()
	if text != "all" {
		return named("-sweep", text, axes, func(a axis) string { return a.name })
	}
	var names []string
	for _, a := range axes {
		names = append(names, a.name)
	}
	return names, nil
}

// along returns an axis with a join for each value; set changes the join and returns its name.
func along(name string, values []int, set func(c *joinCase, value int) string) axis {
	a := axis{name: name}
	for _, v := range values {
		a.cases = append(a.cases, sweepBase("", func(c *joinCase) { c.name = set(c, v) }))
	}
	return a
}

// measureSweep joins along all axes that were asked for, and prints a line for each join.
func (b *bench) measureSweep(ctx context.Context, d *devices) error {
	rows := []string{"axis\tjoin\talone, ms\texchange\treplicate\tway\tchosen\tof best\tof alone"}
	var failed []error
	for _, a := range sweepAxes() {
		if !slices.Contains(b.sweep, a.name) {
			continue
		}
		for _, c := range a.cases {
			ways := []mgj.Options{{Strategy: mgj.Exchange}, {Strategy: mgj.Replicate}}
			if c.Domain > 2*c.Distinct { // else no filter pays
				ways = append(ways, filtered...)
			}
			results, err := b.timeJoin(ctx, d, c, ways)
			if ctx.Err() != nil {
				return errors.Join(append(failed, measure.Table(os.Stdout, rows...), ctx.Err())...)
			}
			if err != nil {
				failed = append(failed, fmt.Errorf("%s: %w", c.name, err))
				continue
			}
			b.judge(c, "", results)
			rows = append(rows, a.name+"\t"+sweepRow(results))
			b.record(results)
		}
	}
	return errors.Join(append(failed, measure.Table(os.Stdout, rows...))...)
}

// sweepRow is the line of a join: its times alone, of an exchange and of a replicated build side.
func sweepRow(results []joinResult) string {
	ms := map[string]string{alone: "-", mgj.Exchange.String(): "-", mgj.Replicate.String(): "-"}
	best, chosen, way, times := math.Inf(1), "-", "-", "-\t-"
	for _, r := range results {
		if _, ok := ms[r.How]; ok && r.refused == nil {
			ms[r.How] = fmt.Sprintf("%.3f", r.MS)
		}
		if r.refused == nil {
			best = min(best, r.MS)
		}
	}
	for _, r := range results {
		if !r.Chosen {
			continue
		}
		chosen = r.How
		if r.Way != "" {
			way = r.Way
		}
		if r.refused == nil {
			times = fmt.Sprintf("%.2f\t%.2f", r.MS/best, r.Ratio)
		}
	}
	return fmt.Sprintf("%s\t%s\t%s\t%s\t%s\t%s\t%s", results[0].Case, ms[alone], ms[mgj.Exchange.String()], ms[mgj.Replicate.String()], way, chosen, times)
}
