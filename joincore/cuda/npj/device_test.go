//go:build cuda

package npj

import (
	"testing"

	"gpujoin/joincore/cuda/check"
	"gpujoin/joincore/cuda/launch"
)

func TestJoins(t *testing.T) { check.New(t, 1<<28, launch.Close).Matrix(Run, 256, 1024) }

// The table is fuller, and row numbers lie in the result's columns, where else
// the bound would not hold.
func TestShortOfMemory(t *testing.T) {
	r := check.New(t, 1<<28, launch.Close)
	for _, c := range []check.Case{
		{Build: 40000, Probe: 40000, Keys: check.Spread(2000), KeyBytes: 4, Widths: [2][]int{{16, 8}, {4}}},
		{Build: 400000, Probe: 400000, Keys: check.Spread(400000), KeyBytes: 4, Widths: [2][]int{{1}, {2}}},
		{Build: 40000, Probe: 50000, Keys: check.Ascending(77, 1), KeyBytes: 8, Widths: [2][]int{{4, 4}, {4}}},
	} {
		c.Expect = -1
		r.Inner(Run, c)
	}
}
