//go:build cuda

package main

import (
	"fmt"
	"slices"
)

// Joins of many payload columns must cost as much as their bytes say: at most
// payloadBar times a linear model in bytes that is fitted to the joins of payloadBase.
const (
	payloadBuild = 1 << 26
	payloadProbe = 1 << 27
	payloadBar   = 1.35
)

var payloadBase = []string{"1+1", "2+2", "4+4"}

// payloads returns the cases, by their payload columns: of 4 bytes unless named.
func payloads() (list []join) {
	add := func(name string, build, probe []int) {
		list = append(list, join{name, payloadBuild, payloadProbe, 4, build, probe, payloadBuild, payloadBuild, 0, false, 0})
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

// bytes returns the bytes of a case's inputs and of its result.
func (j *join) bytes() float64 {
	sum := func(widths []int) (n int64) {
		for _, w := range widths {
			n += int64(w)
		}
		return n
	}
	key, build, probe := int64(j.key), sum(j.buildWidths), sum(j.probeWidths)
	return float64(j.build*(key+build) + j.probe*(key+probe) + j.probe*(key+build+probe))
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
	var x, y []float64
	var rest []join
	for _, j := range list {
		r, ran := of[j.name]
		switch {
		case !ran || j.build != payloadBuild || j.probe != payloadProbe:
		case slices.Contains(payloadBase, j.name):
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
	for _, j := range rest {
		r, linear := of[j.name], at+slope*j.bytes()
		note := ""
		if r.MS > payloadBar*linear {
			note = " above the bar"
		}
		fmt.Printf("%-11s %-18s %8.3f %8.3f %6.2f %6.2f%s\n", j.name, r.Algorithm, r.MS, linear, r.MS/linear, payloadBar, note)
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
