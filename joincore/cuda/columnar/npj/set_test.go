//go:build cuda

package npj

import (
	"testing"

	"gpujoin/joincore/cuda/columnar/launch"
	"gpujoin/testsupport/columnartest"
)

// Hash tables and arrays, both key widths, payload gathered later and during the
// probe, chains of build rows.
func TestSet(t *testing.T) {
	some := func(keyBytes int, build, probe []int) columnartest.Case {
		return columnartest.Case{Build: 3000, Probe: 6000, Keys: columnartest.Spread(3000), KeyBytes: keyBytes, Widths: [2][]int{build, probe}, Expect: -1}
	}
	of := func(keyBytes, build, probe int, keys func(*columnartest.Rig, int) uint64) columnartest.Case {
		c := some(keyBytes, []int{4, 4}, []int{4})
		c.Build, c.Probe, c.Keys = build, probe, keys
		return c
	}
	ids, noKey, more := some(4, []int{4}, []int{8}), some(8, []int{4, 2}, []int{4}), of(4, 1500, 1500, columnartest.Spread(300))
	ids.RowIDs, noKey.NoKey, more.Expect = true, true, 100
	join := columnartest.New(t, 1<<28, launch.Close).Named
	columnartest.Set(t, []columnartest.Named{
		join("keys alone", Run, some(4, nil, nil)),
		join("gathered", Run, some(4, []int{16, 1, 4}, []int{8, 2})),
		join("gathered, keys of 8 bytes", Run, some(8, []int{8, 8}, []int{4, 4})),
		join("one build column", Run, some(4, []int{8}, []int{1, 2})),
		join("one build column, keys of 8 bytes", Run, some(8, []int{4}, []int{16})),
		join("row numbers", Run, ids),
		join("no key in the result", Run, noKey),
		join("dense keys", Run, of(4, 3000, 6000, columnartest.Ascending(1<<20, 1))),
		join("dense keys of 8 bytes, each three times", Run, of(8, 3000, 2000, columnartest.Ascending(0, 3))),
		join("tiles that end with the rows", Run, of(4, 256, 2048, columnartest.Spread(256))),
		join("tiles with a row more", Run, of(8, 257, 1025, columnartest.Spread(256))),
		join("several partners", Run, of(8, 1500, 2000, columnartest.Spread(500))),
		join("one key", Run, of(4, 60, 200, columnartest.Spread(1))),
		join("more rows than expected", Run, more),
		join("no build rows", Run, of(4, 0, 33, columnartest.Spread(9))),
		join("no probe rows", Run, of(8, 33, 0, columnartest.Spread(9))),
	})
}
