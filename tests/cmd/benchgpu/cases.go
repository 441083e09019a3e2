//go:build cuda

package main

import (
	"fmt"

	"gpujoin/tests/columndata"
)

// join is one case: its data and its required time.
type join struct {
	name         string
	build, probe int64
	key          int   // bytes
	buildWidths  []int // bytes of each payload column's values
	probeWidths  []int
	distinct     int64   // build keys
	domain       int64   // of probe keys; if above distinct, the others have no match
	zipf         float64 // exponent of the probe keys' distribution, 0: uniform
	dense        bool    // build keys are a permutation of 0, 1, 2, ...
	bar          float64 // maximum ms of the chosen algorithm; 0: none
}

// data returns what its inputs are made from.
func (c *join) data() columndata.Case {
	return columndata.Case{
		Build: c.build, Probe: c.probe, Key: c.key, BuildWidths: c.buildWidths, ProbeWidths: c.probeWidths,
		Distinct: c.distinct, Domain: c.domain, Zipf: c.zipf, Dense: c.dense,
	}
}

func repeat(n, width int) []int {
	w := make([]int, n)
	for i := range w {
		w[i] = width
	}
	return w
}

// table is the default set: 2^27 build and 2^28 probe rows unless named, and joins of
// many payload columns.
func table() []join {
	const r, s = 1 << 27, 1 << 28
	c := func(name string, key, columns, width int, bar float64) join {
		return join{name, r, s, key, repeat(columns, width), repeat(columns, width), r, r, 0, false, bar}
	}
	sized := func(j join, build, probe, distinct, domain int64, zipf float64) join {
		j.build, j.probe, j.distinct, j.domain, j.zipf = build, probe, distinct, domain, zipf
		return j
	}
	return append([]join{
		c("4B-1+1", 4, 1, 4, 8),
		c("4B-2+2", 4, 2, 4, 11),
		c("4B-4+4", 4, 4, 4, 16),
		c("4B/8B-2+2", 4, 2, 8, 16),
		c("8B-2+2", 8, 2, 8, 19),
		sized(c("match-1/4", 4, 2, 4, 9), r, s, r, 4*r, 0),
		sized(c("match-1/16", 4, 2, 4, 7.5), r, s, r, 16*r, 0),
		sized(c("zipf-1.0", 4, 2, 4, 7), r, r, r, r, 1),
		sized(c("zipf-1.5", 4, 2, 4, 6), r, r, r, r, 1.5),
		sized(c("2^23x2^24", 4, 2, 4, 0.8), 1<<23, 1<<24, 1<<23, 1<<23, 0),
		sized(c("2^20x2^21", 4, 2, 4, 0.2), 1<<20, 1<<21, 1<<20, 1<<20, 0),
		sized(c("m:n-8x8", 4, 2, 4, 0), 1<<24, 1<<24, 1<<21, 1<<21, 0),
		{"mixed", 1 << 25, 1 << 26, 4, []int{1, 8, 2}, []int{16, 4, 1}, 1 << 25, 1 << 25, 0, false, 0},
	}, payloads()...)
}

// asked returns cases that run only if named.
func asked() []join {
	return []join{
		{"dense-2+2", 1 << 27, 1 << 28, 4, repeat(2, 4), repeat(2, 4), 1 << 27, 1 << 27, 0, true, 0},
		{"dense-2^20", 1 << 20, 1 << 28, 4, repeat(2, 4), repeat(2, 4), 1 << 20, 1 << 20, 0, true, 0},
		{"star-1/4", 1 << 24, 1 << 28, 4, repeat(2, 4), repeat(2, 4), 1 << 24, 4 << 24, 0, false, 0},
		{"star-1/16", 1 << 24, 1 << 28, 4, repeat(2, 4), repeat(2, 4), 1 << 24, 16 << 24, 0, false, 0},
	}
}

// selected returns the cases by name: without names the table's, for "-" none.
func selected(names string) ([]join, error) {
	all := table()
	if names == "" {
		return all, nil
	}
	all = append(all, asked()...)
	var list []join
	for _, name := range split(names) {
		found := name == "-"
		for _, j := range all {
			if j.name == name {
				list, found = append(list, j), true
			}
		}
		if !found {
			return nil, fmt.Errorf("no case is named %s", name)
		}
	}
	return list, nil
}

// own returns a case that flags describe.
func own(c *columndata.Case) join {
	return join{"own", c.Build, c.Probe, c.Key, c.BuildWidths, c.ProbeWidths, c.Distinct, c.Domain, c.Zipf, c.Dense, 0}
}
