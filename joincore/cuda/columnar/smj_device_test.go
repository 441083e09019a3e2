//go:build cuda

package columnar_test

import (
	"context"
	"gpujoin/joincore/cuda/columnar"
	"testing"

	"gpujoin/joincore/cuda/driver"
	"gpujoin/testsupport/columnartest"
)

func TestSMJ(t *testing.T) {
	for name, f := range map[string]columnar.Func{"om": columnar.SMJOM, "um": columnar.SMJUM} {
		t.Run(name, func(t *testing.T) { columnartest.New(t, 1<<28).Matrix(f, 2048, 4096) })
	}
}

// The sides are long enough for the kernels for many rows.
func TestLongSMJ(t *testing.T) {
	r := columnartest.New(t, 1<<30)
	for _, c := range []columnartest.Case{
		{KeyBytes: 4, Widths: [2][]int{{4, 1}, {2}}},
		{KeyBytes: 4, Widths: [2][]int{{16}, {8, 4}}},
		{KeyBytes: 8, Widths: [2][]int{{4}, {16, 1}}},
	} {
		c.Build, c.Probe, c.Expect = 2_000_000, 2_500_001, -1
		if testing.Short() {
			c.Build = 200_000 // because the reference is slow
		}
		c.Keys = func(r *columnartest.Rig, row int) uint64 { return (r.Rand.Uint64N(8 << 20)) * 0x9e3779b97f4a7c15 }
		r.Inner(columnar.SMJOM, c)
		r.Inner(columnar.SMJUM, c)
	}
}

// One column at a time, on request and because memory is short.
func TestColumns(t *testing.T) {
	r := columnartest.New(t, 1<<28)
	for _, keyBytes := range []int{4, 8} {
		for _, widths := range [][2][]int{{}, {{4}, nil}, {{1, 2}, {2, 1}}, {{4, 8}, {16}}, {{16, 1, 4}, {8, 8, 4, 2}}} {
			r.Inner(columnar.SMJColumns, columnartest.Case{Build: 9000, Probe: 14000, Keys: columnartest.Spread(9000), KeyBytes: keyBytes, Widths: widths, Expect: -1})
		}
		few := columnartest.Case{KeyBytes: keyBytes, Widths: [2][]int{{4, 2}, {8, 8}}, Keys: columnartest.Spread(7)}
		for _, rows := range [][2]int{{0, 33}, {33, 0}, {1, 1}, {600, 500}} {
			few.Build, few.Probe, few.Expect = rows[0], rows[1], 100
			r.Inner(columnar.SMJColumns, few)
		}
		few.RowIDs = true
		r.Inner(columnar.SMJColumns, few)
		few.RowIDs, few.NoKey = false, true
		r.Inner(columnar.SMJColumns, few)
	}
	short := func(ctx context.Context, d *driver.Context, s *driver.Stream, a *driver.Arena, j *columnar.Join) (*columnar.Output, *columnar.Report, error) {
		part, err := a.Part(2 << 20)
		r.Must(err)
		out, report, err := columnar.SMJOM(ctx, d, s, part, j)
		if err == nil && report.Algorithm != "smj-om/columns" {
			t.Errorf("short of memory it was %s", report.Algorithm)
		}
		return out, report, err
	}
	four := []int{8, 8, 8, 8}
	r.Inner(short, columnartest.Case{Build: 20000, Probe: 30000, Keys: columnartest.Spread(1 << 20), KeyBytes: 4, Widths: [2][]int{four, four}, Expect: -1})
}

// Row numbers are stored in the result's columns, of 4, 8 and 16 bytes, if the
// result is so large that separate ones would exceed the bound.
func TestNumbersInPlace(t *testing.T) {
	r := columnartest.New(t, 1<<28)
	for _, widths := range [][2][]int{{{4, 2}, {8, 8}}, {{16, 16}, {1, 4, 8}}} {
		c := columnartest.Case{Build: 40000, Probe: 40000, Keys: columnartest.Spread(2000), KeyBytes: 4, Widths: widths, Expect: -1}
		r.Inner(columnar.SMJUM, c)
		r.Inner(columnar.SMJColumns, c)
	}
}

// Row r of either side has the r-th of 2^32 different keys in no order, so each build
// row has exactly one partner, the probe row of its number. Row numbers, positions in
// sorted columns and counts exceed 2^31.
func TestManyRowsSMJ(t *testing.T) {
	const build, probe = 1 << 22, 2_200_000_000
	if testing.Short() {
		t.Skip("it moves 9 GB to the device")
	}
	devices, err := driver.Devices()
	if err != nil || len(devices) == 0 || devices[0].Memory < 64<<30 {
		t.Skipf("it needs 64 GiB of device memory: %v, %v", devices, err)
	}
	r := columnartest.New(t, 50<<30)
	key := func(row int64) uint32 {
		x := uint32(row) * 0x9e3779b1
		x ^= x >> 15
		return x * 0x2c1b3c6d
	}
	join := columnar.Join{OutputRows: build, RowIDs: true, NoKey: true}
	join.Build = columnar.Side{Rows: build, Key: r.UploadWords(build, key)}
	join.Probe = columnar.Side{Rows: probe, Key: r.UploadWords(probe, key)}
	out, _, err := columnar.SMJOM(context.Background(), r.Context, r.Stream, r.Arena, &join)
	r.Must(err)
	if out.Rows != build {
		t.Fatalf("returned %d rows in place of %d", out.Rows, build)
	}
	partners := r.Download(out.Probe[0], out.Rows)
	seen := make([]bool, build)
	for i, row := range r.Download(out.Build[0], out.Rows) {
		if seen[row[0]] || partners[i] != row {
			t.Fatalf("build row %d was returned with probe row %d, before that: %v", row[0], partners[i][0], seen[row[0]])
		}
		seen[row[0]] = true
	}
}
