//go:build cuda

package bench

import (
	"fmt"

	"gpujoin/tests/columndata"
)

// join is one case: its data. Bars are by name.
type join struct {
	name string
	columndata.Case
}

// uniform returns a join with distinct build keys of 4 bytes. Each probe row has one of them, and
// all are equally likely.
func uniform(name string, build, probe int64, buildWidths, probeWidths []int) join {
	return join{name: name, Case: columndata.Case{
		Build: build, Probe: probe, Key: 4, BuildWidths: buildWidths, ProbeWidths: probeWidths, Distinct: build, Domain: build,
	}}
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
	c := func(name string, key, columns, width int) join {
		j := uniform(name, r, s, repeat(columns, width), repeat(columns, width))
		j.Key = key
		return j
	}
	sized := func(j join, build, probe, distinct, domain int64, zipf float64) join {
		j.Build, j.Probe, j.Distinct, j.Domain, j.Zipf = build, probe, distinct, domain, zipf
		return j
	}
	return append([]join{
		c("4B-1+1", 4, 1, 4),
		c("4B-2+2", 4, 2, 4),
		c("4B-4+4", 4, 4, 4),
		c("4B/8B-2+2", 4, 2, 8),
		c("8B-2+2", 8, 2, 8),
		sized(c("match-1/4", 4, 2, 4), r, s, r, 4*r, 0),
		sized(c("match-1/16", 4, 2, 4), r, s, r, 16*r, 0),
		sized(c("zipf-1.0", 4, 2, 4), r, r, r, r, 1),
		sized(c("zipf-1.5", 4, 2, 4), r, r, r, r, 1.5),
		sized(c("2^23x2^24", 4, 2, 4), 1<<23, 1<<24, 1<<23, 1<<23, 0),
		sized(c("2^20x2^21", 4, 2, 4), 1<<20, 1<<21, 1<<20, 1<<20, 0),
		sized(c("m:n-8x8", 4, 2, 4), 1<<24, 1<<24, 1<<21, 1<<21, 0),
		uniform("mixed", 1<<25, 1<<26, []int{1, 8, 2}, []int{16, 4, 1}),
	}, payloads()...)
}

// asked returns cases that run only if named.
func asked() []join {
	const s = 1 << 28
	two := repeat(2, 4)
	dense := func(name string, build int64) join {
		j := uniform(name, build, s, two, two)
		j.Dense = true
		return j
	}
	star := func(name string, rows int64) join { // one of so many probe rows has a match
		j := uniform(name, 1<<24, s, two, two)
		j.Domain *= rows
		return j
	}
	return append([]join{dense("dense-2+2", 1<<27), dense("dense-2^20", 1<<20), star("star-1/4", 4), star("star-1/16", 16)}, queries()...)
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
	return join{name: "own", Case: *c}
}
