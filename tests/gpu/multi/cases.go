//go:build cuda

package multi

import (
	"slices"

	"gpujoin/tests/columndata"
)

// joinCase is a join of rows in the memory of all devices. The bar of its name is the most
// time that the best of the ways to join over several devices may take, as a part of the time
// on one.
type joinCase struct {
	name string
	columndata.Case
	placement float64 // Zipf's exponent of the rows that devices have; 0: even
	// colocated: half of the partitions have few build rows.
	colocated bool
	// unified: it is also joined over unified memory.
	unified bool
	// twice names a case of half the rows, of whose time this one may take 2.05 times.
	twice string
}

func joinCases() []joinCase {
	const r, s = 1 << 27, 1 << 28
	of := func(name string, build, probe int64, n int) joinCase {
		return joinCase{name: name, Case: columndata.Case{
			Build: build, Probe: probe, Key: 4, BuildWidths: columns(n, 4), ProbeWidths: columns(n, 4), Distinct: build, Domain: build,
		}}
	}
	zipf := of("zipf-1.0", r, r, 2)
	zipf.Zipf = 1
	hot := of("zipf-1.5", r, r, 2)
	hot.Zipf = 1.5
	placed := of("placed-1.0", r, s, 2)
	placed.placement = 1
	rare := of("colocated", colocatedBuild, 1<<26, 1)
	rare.colocated, rare.placement = true, 0.5
	small := of("2^23x2^24", 1<<23, 1<<24, 2)
	small.unified = true
	twice := of("2^28x2^29", 2*r, 2*s, 2)
	twice.twice = "2+2"
	return []joinCase{
		of("1+1", r, s, 1), of("2+2", r, s, 2), of("4+4", r, s, 4),
		of("2^24x2^28", 1<<24, s, 2), zipf, hot, placed, rare,
		of("2^25x2^26", 1<<25, 1<<26, 2), of("2^24x2^25", 1<<24, 1<<25, 2),
		small, of("2^20x2^21", 1<<20, 1<<21, 2), twice,
	}
}

// columns returns the widths of n columns.
func columns(n, width int) (w []int) {
	for range n {
		w = append(w, width)
	}
	return w
}

// joinsOf returns the joins with these names, by commas: all where empty, none for "-". own
// gives one more, if flags describe it.
func joinsOf(names string, own func() (*columndata.Case, error)) (list []joinCase, err error) {
	all := joinCases()
	if names == "" {
		list = all
	}
	if names != "" && names != "-" {
		chosen, err := named("-cases", names, all, func(c joinCase) string { return c.name })
		if err != nil {
			return nil, err
		}
		for _, c := range all {
			if slices.Contains(chosen, c.name) {
				list = append(list, c)
			}
		}
	}
	c, err := own()
	if c != nil {
		list = append(list, joinCase{name: "own", Case: *c})
	}
	return list, err
}
