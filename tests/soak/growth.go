package soak

import (
	"fmt"
	"maps"
	"slices"

	"gpujoin/tests/measure"
)

// growth says how a number developed. The first third of a run is left out: caches fill. A
// number grows without bound if the median of the last third is more than a tenth and an
// allowance above that of the second third, and the line that fits both best rises: a single
// peak moves neither median, a slow leak moves both, and a level that was merely reached late
// is seen again in the next, longer run.
type growth struct {
	Process  string  `json:"process"`
	Metric   string  `json:"metric"`
	Second   float64 `json:"second_third"` // median
	Last     float64 `json:"last_third"`   // median
	PerHour  float64 `json:"per_hour"`     // the fitted line's slope over both
	Grows    bool    `json:"grows"`
	Observed int     `json:"samples"`
}

// judge judges values that were taken at the times x, in hours and in order.
func judge(process, metric string, x, values []float64, allowance float64) growth {
	n := len(values)
	second, last := values[n/3:2*n/3], values[2*n/3:]
	g := growth{Process: process, Metric: metric, Observed: n,
		Second: measure.Round(measure.Median(second), 1), Last: measure.Round(measure.Median(last), 1),
		PerHour: measure.Round(slope(x[n/3:], values[n/3:]), 1)}
	g.Grows = g.Last > 1.1*g.Second+allowance && g.PerHour > 0
	return g
}

// slope returns that of the line with the least squares.
func slope(x, y []float64) float64 {
	var sx, sy, sxx, sxy float64
	for i := range x {
		sx += x[i]
		sy += y[i]
		sxx += x[i] * x[i]
		sxy += x[i] * y[i]
	}
	n := float64(len(x))
	if below := n*sxx - sx*sx; below > 0 {
		return (n*sxy - sx*sy) / below
	}
	return 0
}

// leastSamples is how many a judgement needs.
const leastSamples = 9

// grown judges all kinds of processes, and each process that lived during the last two
// thirds. Sessions that come and go are judged by the sums of their kind.
func grown(samples []sample) (list []growth, err error) {
	if len(samples) < leastSamples {
		return nil, fmt.Errorf("%d samples, and not at least %d: the run was too short", len(samples), leastSamples)
	}
	var x []float64
	for _, s := range samples {
		x = append(x, s.at.Hours())
	}
	for _, kind := range []string{kindDaemon, kindWorker, kindServer} {
		for _, m := range metrics {
			var values []float64
			for _, s := range samples {
				u := s.sums[kind]
				values = append(values, m.of(&u))
			}
			if slices.Max(values) > 0 {
				list = append(list, judge(kind, m.name, x, values, m.allowance))
			}
		}
	}
	lasting := samples[len(samples)-1].processes
	for _, pid := range slices.Sorted(maps.Keys(lasting)) {
		if all, at := valuesOf(samples, pid); len(all) >= len(samples)*2/3 {
			for _, m := range metrics {
				var values []float64
				for i := range all {
					values = append(values, m.of(&all[i]))
				}
				list = append(list, judge(fmt.Sprintf("%s %d", all[0].title, pid), m.name, at, values, m.allowance))
			}
		}
	}
	return list, nil
}

// valuesOf returns what a process held, and when.
func valuesOf(samples []sample, pid int) (all []usage, at []float64) {
	for _, s := range samples {
		if u, lives := s.processes[pid]; lives {
			all, at = append(all, u), append(at, s.at.Hours())
		}
	}
	return all, at
}
