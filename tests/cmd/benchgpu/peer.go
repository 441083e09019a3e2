//go:build cuda

package main

import (
	"context"
	"fmt"
	"math"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
)

// peers are the names that GPU-Joins-Evaluation has for algorithms.
var peers = map[string]string{"phj-om": "shj", "phj-um": "phj", "smj-om": "smj", "smj-um": "smji"}

// phaseTime is a phase in the output of its executables.
var phaseTime = regexp.MustCompile(`(?m)^(?:Partition|Join|Materialize|Sort|Merge): ([0-9.e+-]+) ms$`)

// addPeer runs that project's executables in dir on a case's sizes and adds
// their times: to each algorithm its counterpart's, to what was chosen the best.
//
// What they time is not quite the same: their keys are dense and payloads equal
// to the key, the result's memory is a ring of the probe side's size, and their
// PHJ-UM is compiled for 108 multiprocessors. One run each: they make their data
// on the host, which takes minutes.
func addPeer(ctx context.Context, dir string, c join, results []result) error {
	times := map[string]float64{}
	best := math.Inf(1)
	for ours, theirs := range peers {
		if !slices.ContainsFunc(results, func(r result) bool { return r.Algorithm == ours }) {
			continue
		}
		ms, err := runPeer(ctx, dir, theirs, c)
		if err != nil {
			return err
		}
		if ms > 0 {
			times[ours], best = ms, min(best, ms)
		}
	}
	for i := range results {
		r := &results[i]
		r.PeerMS = times[r.Algorithm]
		if r.Chosen && !math.IsInf(best, 1) {
			r.PeerMS = best
		}
	}
	return nil
}

// runPeer returns the ms of one executable; 0: it cannot do the case.
func runPeer(ctx context.Context, dir, algorithm string, c join) (float64, error) {
	width := 4
	for i, w := range append(slices.Clone(c.buildWidths), c.probeWidths...) {
		if i == 0 {
			width = w
		}
		if w != width || w != 4 && w != 8 {
			return 0, nil
		}
	}
	if c.distinct != c.build || c.key > width {
		return 0, nil
	}
	distribution := "uniform"
	if c.zipf > 0 {
		distribution = "zipf"
	}
	program := filepath.Join(dir, fmt.Sprintf("join_exp_%db%db", c.key, width))
	number := func(n int) string { return strconv.Itoa(n) }
	out, err := exec.CommandContext(ctx, program, "-r", strconv.FormatInt(c.build, 10), "-s", strconv.FormatInt(c.probe, 10),
		"-m", number(len(c.buildWidths)), "-n", number(len(c.probeWidths)), "-t", "pkfk", "-d", distribution,
		"-z", fmt.Sprint(c.zipf), "-e", fmt.Sprint(float64(c.distinct)/float64(c.domain)), "-i", algorithm).CombinedOutput()
	if err != nil {
		return 0, fmt.Errorf("%s -i %s: %w\n%s", program, algorithm, err, out)
	}
	total, phases := 0.0, phaseTime.FindAllSubmatch(out, -1)
	if len(phases) != 3 {
		return 0, fmt.Errorf("%s -i %s has printed %d times in place of 3:\n%s", program, algorithm, len(phases), out)
	}
	for _, p := range phases {
		ms, err := strconv.ParseFloat(string(p[1]), 64)
		if err != nil {
			return 0, err
		}
		total += ms
	}
	return total, nil
}
