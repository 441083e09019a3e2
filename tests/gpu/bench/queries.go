//go:build cuda

package bench

import (
	"fmt"
	"os"

	"gpujoin/tests/measure"
)

// queryJoin is a join of a query of TPC-H or TPC-DS, as table 6 of the GFTR paper has it: the rows
// of both sides and of the result, and of each side how many payload columns are keys and how many
// are not.
type queryJoin struct {
	name                 string
	build, probe, result int64
	keys, others         [2]int
}

var queryJoins = []queryJoin{
	{"J1", 15_000_000, 18_200_000, 18_200_000, [2]int{1, 0}, [2]int{3, 1}},
	{"J2", 15_000_000, 60_000_000, 60_000_000, [2]int{1, 0}, [2]int{2, 1}},
	{"J3", 2_000_000, 2_100_000, 2_100_000, [2]int{0, 0}, [2]int{3, 3}},
	{"J4", 1_900_000, 58_000_000, 58_000_000, [2]int{0, 3}, [2]int{1, 7}},
	{"J5", 72_000_000, 72_000_000, 904_000_000, [2]int{0, 0}, [2]int{1, 1}},
}

// queries returns these joins with keys of 4 bytes and other columns of 8 and, with names that
// begin with 8B-, with keys of 8 bytes as well. Each build key has as many rows as the result needs.
func queries() (list []join) {
	for _, key := range []int{4, 8} {
		for _, q := range queryJoins {
			widths := func(side int) []int { return append(repeat(q.keys[side], key), repeat(q.others[side], 8)...) }
			j := uniform(q.name, q.build, q.probe, widths(0), widths(1))
			j.Key = key
			j.Distinct = int64(float64(q.build) * float64(q.probe) / float64(q.result))
			j.Domain = j.Distinct
			if key != 4 {
				j.name = fmt.Sprintf("%dB-%s", key, q.name)
			}
			list = append(list, j)
		}
	}
	return list
}

// materialised are algorithms that fetch payload by row number (UM), each with the one that moves
// payload with the key (OM).
var materialised = [][2]string{{"phj-um", "phj-om"}, {"smj-um", "smj-om"}}

// printPeaks prints the peak memory of joins by UM and by OM side by side, as tables 2 and 5 of the
// GFTR paper do, of the cases that were joined by both. byName has the results by case and by the name
// of the algorithm that was asked for.
func printPeaks(list []join, byName map[[2]string]result) error {
	rows := []string{"peak memory, GB\tUM\tOM\tOM by UM"}
	for _, j := range list {
		for _, pair := range materialised {
			um, okUM := byName[[2]string{j.name, pair[0]}]
			om, okOM := byName[[2]string{j.name, pair[1]}]
			if !okUM || !okOM || um.wrong != "" || om.wrong != "" {
				continue
			}
			rows = append(rows, fmt.Sprintf("%s %s\t%.2f\t%.2f\t%.2f", j.name, pair[0][:3], float64(um.PeakBytes)/1e9, float64(om.PeakBytes)/1e9,
				float64(om.PeakBytes)/float64(um.PeakBytes)))
		}
	}
	if len(rows) == 1 {
		return nil
	}
	fmt.Println()
	return measure.Table(os.Stdout, rows...)
}
