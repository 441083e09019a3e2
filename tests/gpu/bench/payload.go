//go:build cuda

package bench

import (
	"fmt"
	"slices"
	"strconv"

	"gpujoin/tests/measure"
)

// Joins of many payload columns must cost as much as their bytes say: their bar is a ratio to
// a linear model in bytes that is fitted to the joins of payloadBase columns of 4 bytes a
// side. The joins of a sweep have fewer rows, since some are wide.
const (
	payloadBuild = 1 << 26
	sweepBuild   = 1 << 24
	sweepColumns = 16
)

var payloadBase = []int{1, 2, 4}

// payloadJoin returns a join of which the build side has the given rows, and the probe
// side twice as many.
func payloadJoin(name string, rows int64, build, probe []int) join {
	return uniform(name, rows, 2*rows, build, probe)
}

// judged reports whether a case is compared with the model; base: whether the model is
// fitted to it.
func (j *join) judged() (base, ok bool) {
	if j.Build != payloadBuild && j.Build != sweepBuild || j.Probe != 2*j.Build || j.Key != 4 && j.Key != 8 || j.Distinct != j.Build || j.Domain != j.Build || j.Zipf != 0 || j.Dense {
		return false, false
	}
	n := len(j.BuildWidths)
	base = j.Key == 4 && slices.Contains(payloadBase, n) && slices.Equal(j.BuildWidths, repeat(n, 4)) && slices.Equal(j.ProbeWidths, j.BuildWidths)
	return base, true
}

// payloads returns the cases, by their payload columns: of 4 bytes unless named.
func payloads() (list []join) {
	add := func(name string, build, probe []int) {
		list = append(list, payloadJoin(name, payloadBuild, build, probe))
	}
	for _, n := range [][2]int{{1, 1}, {2, 2}, {4, 4}, {1, 5}, {5, 1}, {6, 6}, {8, 2}, {12, 1}, {1, 12}, {16, 16}} {
		add(fmt.Sprintf("%d+%d", n[0], n[1]), repeat(n[0], 4), repeat(n[1], 4))
	}
	add("mixed-5+5", []int{1, 2, 4, 8, 16}, []int{16, 8, 4, 2, 1})
	add("8B-5+5", repeat(5, 8), repeat(5, 8))
	add("16B-1+3", repeat(1, 4), repeat(3, 16))
	add("1B-16+16", repeat(16, 1), repeat(16, 1))
	return list
}

// sweep returns joins of 1 to 16 payload columns: of each of the given widths, or of all
// widths in turn for "mixed"; on both sides, and on one next to a column of 4 bytes or to none
// on the other. keys are the bytes of keys. The model's joins come first, with keys of 4 bytes;
// those of keys alone, which no join can undercut, before others of such keys.
func sweep(widths, keys []string) (list []join, err error) {
	for _, n := range payloadBase {
		list = append(list, payloadJoin(fmt.Sprintf("%dx4B", n), sweepBuild, repeat(n, 4), repeat(n, 4)))
	}
	for _, text := range keys {
		key, err := strconv.Atoi(text)
		if err != nil || key != 4 && key != 8 {
			return nil, fmt.Errorf("keys of %q bytes", text)
		}
		prefix := ""
		if key != 4 {
			prefix = text + "B-"
		}
		add := func(name string, build, probe []int) {
			j := payloadJoin(prefix+name, sweepBuild, build, probe)
			j.Key = key
			if base, _ := j.judged(); !base {
				list = append(list, j)
			}
		}
		add("keys", nil, nil)
		if err := sweepWidths(widths, add); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// sweepWidths adds a sweep's joins of some width of keys.
func sweepWidths(widths []string, add func(name string, build, probe []int)) error {
	for _, text := range widths {
		of, name := []int{1, 2, 4, 8, 16}, text
		if text != "mixed" {
			w, err := strconv.Atoi(text)
			if err != nil || !slices.Contains(of, w) {
				return fmt.Errorf("payload columns of %q bytes", text)
			}
			of, name = []int{w}, text+"B"
		}
		var columns []int
		for n := 1; n <= sweepColumns; n++ {
			columns = append(columns, of[(n-1)%len(of)])
			all, one := slices.Clone(columns), []int{4}
			add(fmt.Sprintf("%dx%s", n, name), all, all)
			add(fmt.Sprintf("%dx%s+0", n, name), all, nil)
			add(fmt.Sprintf("0+%dx%s", n, name), nil, all)
			if slices.Equal(all, one) {
				continue
			}
			add(fmt.Sprintf("%dx%s+1", n, name), all, one)
			add(fmt.Sprintf("1+%dx%s", n, name), one, all)
		}
	}
	return nil
}

// bytes returns the bytes of a case's inputs and of its result.
func (j *join) bytes() float64 {
	sum := func(widths []int) (n int64) {
		for _, w := range widths {
			n += int64(w)
		}
		return n
	}
	key, build, probe := int64(j.Key), sum(j.BuildWidths), sum(j.ProbeWidths)
	return float64(j.Build*(key+build) + j.Probe*(key+probe) + j.Probe*(key+build+probe))
}

// judgePayloads prints the chosen algorithm's times of many payload columns next to the
// model, and marks those above the bar.
func judgePayloads(list []join, results []result) {
	of := map[string]*result{}
	for i := range results {
		if r := &results[i]; r.Chosen && r.wrong == "" {
			of[r.Case] = r
		}
	}
	for _, rows := range []int64{payloadBuild, sweepBuild} {
		judgeSize(list, of, rows)
	}
}

// judgeSize does so for joins of one size.
func judgeSize(list []join, of map[string]*result, rows int64) {
	var x, y []float64
	var rest []join
	for _, j := range list {
		r, ran := of[j.name]
		switch base, ok := j.judged(); {
		case !ran || !ok || j.Build != rows:
		case base:
			x, y = append(x, j.bytes()), append(y, r.MS)
		default:
			rest = append(rest, j)
		}
	}
	if len(x) != len(payloadBase) || len(rest) == 0 {
		return
	}
	at, slope := line(x, y)
	fmt.Printf("\n%-11s %-18s %8s %8s %6s %6s\n", "payload", "algorithm", "ms", "linear", "ratio", "bar")
	bar := measure.BarOf(suite, "payload columns", "ms by linear model")
	for _, j := range rest {
		r, linear := of[j.name], at+slope*j.bytes()
		note := ""
		if !bar.Met(r.MS / linear) {
			note = " misses the bar"
		}
		fmt.Printf("%-11s %-18s %8.3f %8.3f %6.2f %6v%s\n", j.name, r.Algorithm, r.MS, linear, r.MS/linear, bar, note)
	}
}

// line fits y = at + slope * x by least squares.
func line(x, y []float64) (at, slope float64) {
	n := float64(len(x))
	var sx, sy, sxx, sxy float64
	for i := range x {
		sx, sy, sxx, sxy = sx+x[i], sy+y[i], sxx+x[i]*x[i], sxy+x[i]*y[i]
	}
	slope = (n*sxy - sx*sy) / (n*sxx - sx*sx)
	return (sy - slope*sx) / n, slope
}
