//go:build cuda

package columnar_test

import (
	"testing"

	"gpujoin/joincore/cuda/columnar"
	"gpujoin/testsupport/columnartest"
)

// Both sort kernels of each width, gathers, one column at a time; tiles and equal runs
// of the merge. The passes for millions of rows differ only in their tile size.
func smjSet(t *testing.T) []columnartest.Named {
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
	rig := columnartest.New(t, 1<<28)
	join := func(name string, f columnar.Func, c columnartest.Case) columnartest.Named {
		return rig.Named("smj, "+name, f, c)
	}
	return []columnartest.Named{
		join("keys alone", columnar.SMJOM, some(4, nil, nil)),
		join("carried, 4 bytes at most", columnar.SMJOM, some(4, []int{4, 1}, []int{2})),
		join("carried, wide values", columnar.SMJOM, some(4, []int{16, 8}, []int{4})),
		join("carried, keys of 8 bytes", columnar.SMJOM, some(8, []int{4}, []int{8, 1})),
		join("gathered", columnar.SMJUM, some(4, []int{16, 1, 4}, []int{8, 8, 4, 2})),
		join("gathered, keys of 8 bytes", columnar.SMJUM, some(8, []int{8, 8}, []int{4, 4})),
		join("a column at a time", columnar.SMJColumns, some(4, []int{4, 8}, []int{16})),
		join("a column at a time, keys of 8 bytes", columnar.SMJColumns, some(8, []int{4, 2}, []int{8})),
		join("row numbers", columnar.SMJOM, ids),
		join("no key in the result", columnar.SMJOM, noKey),
		join("tiles that end with the rows", columnar.SMJOM, of(4096, 4096, columnartest.Spread(4096))),
		join("tiles with a row more", columnar.SMJOM, of(4097, 8193, columnartest.Spread(4096))),
		join("dense keys", columnar.SMJOM, of(3000, 3000, columnartest.Ascending(0, 1))),
		join("an equal run: one key", columnar.SMJOM, of(300, 60, columnartest.Spread(1))),
		join("runs among other keys", columnar.SMJOM, of(2000, 400, columnartest.Skewed(2000))),
		join("runs, gathered", columnar.SMJUM, of(300, 60, columnartest.Spread(2))),
		join("more rows than expected", columnar.SMJOM, more),
		join("no build rows", columnar.SMJOM, of(0, 33, columnartest.Spread(9))),
		join("no probe rows", columnar.SMJUM, of(33, 0, columnartest.Spread(9))),
	}
}
