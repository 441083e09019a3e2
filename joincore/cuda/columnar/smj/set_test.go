//go:build cuda

package smj

import (
	"testing"

	"gpujoin/joincore/cuda/columnar/launch"
	"gpujoin/testsupport/columnartest"
)

// Both sort kernels of each width, gathers, one column at a time; tiles and equal runs
// of the merge. The passes for millions of rows differ only in their tile size.
func TestSet(t *testing.T) {
	some := func(keyBytes int, build, probe []int) columnartest.Case {
		return columnartest.Case{Build: 3000, Probe: 6000, Keys: columnartest.Spread(3000), KeyBytes: keyBytes, Widths: [2][]int{build, probe}, Expect: -1}
	}
	of := func(build, probe int, keys func(*columnartest.Rig, int) uint64) columnartest.Case {
		c := some(4, []int{4}, []int{4})
		c.Build, c.Probe, c.Keys = build, probe, keys
		return c
	}
	ids, noKey, more := some(4, []int{4}, []int{8}), some(8, []int{4}, []int{4}), of(1500, 1500, columnartest.Spread(300))
	ids.RowIDs, noKey.NoKey, more.Expect = true, true, 100
	join := columnartest.New(t, 1<<28, launch.Close).Named
	columnartest.Set(t, []columnartest.Named{
		join("keys alone", OM, some(4, nil, nil)),
		join("carried, 4 bytes at most", OM, some(4, []int{4, 1}, []int{2})),
		join("carried, wide values", OM, some(4, []int{16, 8}, []int{4})),
		join("carried, keys of 8 bytes", OM, some(8, []int{4}, []int{8, 1})),
		join("gathered", UM, some(4, []int{16, 1, 4}, []int{8, 8, 4, 2})),
		join("gathered, keys of 8 bytes", UM, some(8, []int{8, 8}, []int{4, 4})),
		join("a column at a time", Columns, some(4, []int{4, 8}, []int{16})),
		join("a column at a time, keys of 8 bytes", Columns, some(8, []int{4, 2}, []int{8})),
		join("row numbers", OM, ids),
		join("no key in the result", OM, noKey),
		join("tiles that end with the rows", OM, of(4096, 4096, columnartest.Spread(4096))),
		join("tiles with a row more", OM, of(4097, 8193, columnartest.Spread(4096))),
		join("dense keys", OM, of(3000, 3000, columnartest.Ascending(0, 1))),
		join("an equal run: one key", OM, of(300, 60, columnartest.Spread(1))),
		join("runs among other keys", OM, of(2000, 400, columnartest.Skewed(2000))),
		join("runs, gathered", UM, of(300, 60, columnartest.Spread(2))),
		join("more rows than expected", OM, more),
		join("no build rows", OM, of(0, 33, columnartest.Spread(9))),
		join("no probe rows", UM, of(33, 0, columnartest.Spread(9))),
	})
}
