//go:build cuda

package columnar_test

import (
	"slices"
	"testing"

	"gpujoin/joincore/cuda/columnar"
	"gpujoin/testsupport/columnartest"
)

// TestSet uses each family of kernels of sorts and tables once.
func TestSet(t *testing.T) { columnartest.Set(t, slices.Concat(npjSet(t), spreadSet(t), smjSet(t))) }

// Hash tables and arrays, both key widths, payload gathered later and during the
// probe, chains of build rows.
func npjSet(t *testing.T) []columnartest.Named {
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
	rig := columnartest.New(t, 1<<28)
	join := func(name string, f columnar.Func, c columnartest.Case) columnartest.Named {
		return rig.Named("npj, "+name, f, c)
	}
	return []columnartest.Named{
		join("keys alone", columnar.NPJ, some(4, nil, nil)),
		join("gathered", columnar.NPJ, some(4, []int{16, 1, 4}, []int{8, 2})),
		join("gathered, keys of 8 bytes", columnar.NPJ, some(8, []int{8, 8}, []int{4, 4})),
		join("one build column", columnar.NPJ, some(4, []int{8}, []int{1, 2})),
		join("one build column, keys of 8 bytes", columnar.NPJ, some(8, []int{4}, []int{16})),
		join("row numbers", columnar.NPJ, ids),
		join("no key in the result", columnar.NPJ, noKey),
		join("dense keys", columnar.NPJ, of(4, 3000, 6000, columnartest.Ascending(1<<20, 1))),
		join("dense keys of 8 bytes, each three times", columnar.NPJ, of(8, 3000, 2000, columnartest.Ascending(0, 3))),
		join("tiles that end with the rows", columnar.NPJ, of(4, 256, 2048, columnartest.Spread(256))),
		join("tiles with a row more", columnar.NPJ, of(8, 257, 1025, columnartest.Spread(256))),
		join("several partners", columnar.NPJ, of(8, 1500, 2000, columnartest.Spread(500))),
		join("one key", columnar.NPJ, of(4, 60, 200, columnartest.Spread(1))),
		join("more rows than expected", columnar.NPJ, more),
		join("no build rows", columnar.NPJ, of(4, 0, 33, columnartest.Spread(9))),
		join("no probe rows", columnar.NPJ, of(8, 33, 0, columnartest.Spread(9))),
	}
}

// A table in the memory of several devices: both key widths, with and without payload that is
// gathered from all of them, chains of build rows, and results larger than expected.
func spreadSet(t *testing.T) []columnartest.Named {
	rig := columnartest.New(t, 1<<28)
	join := func(name string, devices, keyBytes, keys int, expect int64, build []int) columnartest.Named {
		return rig.Named("spread, "+name, spreadOver(devices, devices-1), columnartest.Case{
			Build: 3000, Probe: 2000, Keys: columnartest.Spread(uint64(keys)), KeyBytes: keyBytes, Widths: [2][]int{build, {4}}, Expect: expect,
		})
	}
	return []columnartest.Named{
		join("keys alone", 2, 4, 3000, -1, nil),
		join("payload", 3, 8, 3000, -1, []int{16, 8, 4, 2, 1}),
		join("several partners", 2, 8, 300, 100, []int{4}),
		join("one key", 8, 4, 1, -1, []int{8, 8}),
		rig.Named("hybrid, payload", hybridOver(2, 1, 2), columnartest.Case{
			Build: 30000, Probe: 2000, Keys: columnartest.Spread(9000), KeyBytes: 8, Widths: [2][]int{{16, 4}, {4}}, Expect: 100,
		}),
	}
}
