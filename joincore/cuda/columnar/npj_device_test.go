//go:build cuda

package columnar_test

import (
	"context"
	"gpujoin/joincore/cuda/columnar"
	"math"
	"strings"
	"testing"

	"gpujoin/joincore/cuda/driver"
	"gpujoin/testsupport/columnartest"
)

func TestNPJ(t *testing.T) {
	columnartest.New(t, 1<<28).Matrix(columnar.NPJ, 256, 1024)
}

// lookFirst determines the key range, then joins with it.
func lookFirst(ctx context.Context, d *driver.Context, s *driver.Stream, a *driver.Arena, j *columnar.Join) (*columnar.Output, *columnar.Report, error) {
	mark := a.Mark()
	keys, _, err := columnar.ReadKeyRange(ctx, d, s, a, j)
	if err != nil {
		return nil, nil, err
	}
	a.Rewind(mark)
	return columnar.NPJWithin(keys)(ctx, d, s, a, j)
}

func TestJoinsOfAKnownRange(t *testing.T) {
	columnartest.New(t, 1<<28).Matrix(lookFirst, 256, 1024)
}

// The report says which table was used: an array if keys are dense, whether or not the
// range was known before. Dense keys may include the largest value, next to which
// absent ones are looked up; from -15000 on they include both ends of the range.
func TestArraysAreReported(t *testing.T) {
	r := columnartest.New(t, 1<<28)
	const largest = math.MaxUint64
	for name, c := range map[string]struct {
		keys func(*columnartest.Rig, int) uint64
		want string
	}{
		"in order":         {columnartest.Ascending(1<<20, 1), "npj/array"},
		"each three times": {columnartest.Ascending(5, 3), "npj/array"},
		"downwards":        {columnartest.Descending(1 << 30), "npj/array"},
		"the largest":      {columnartest.Descending(largest), "npj/array"},
		"from -15000 on":   {columnartest.Ascending(largest-14999, 1), "npj"},
		"all over":         {columnartest.Spread(40000), "npj"},
	} {
		for _, keyBytes := range []int{4, 8} {
			for _, f := range []columnar.Func{columnar.NPJ, lookFirst} {
				r.Inner(func(ctx context.Context, d *driver.Context, s *driver.Stream, a *driver.Arena, j *columnar.Join) (*columnar.Output, *columnar.Report, error) {
					out, report, err := f(ctx, d, s, a, j)
					if err == nil && report.Algorithm != c.want {
						t.Errorf("%s, %d bytes: %s in place of %s", name, keyBytes, report.Algorithm, c.want)
					}
					return out, report, err
				}, columnartest.Case{Build: 30000, Probe: 50000, Keys: c.keys, KeyBytes: keyBytes, Widths: [2][]int{{4, 8}, {4}}, Expect: -1})
			}
		}
	}
}

// If dense keys are in order, every row's key is near its predecessor's.
func TestReadKeyRange(t *testing.T) {
	r := columnartest.New(t, 1<<28)
	for _, keyBytes := range []int{4, 8} {
		r.Inner(func(ctx context.Context, d *driver.Context, s *driver.Stream, a *driver.Arena, j *columnar.Join) (*columnar.Output, *columnar.Report, error) {
			mark := a.Mark()
			keys, report, err := columnar.ReadKeyRange(ctx, d, s, a, j)
			if err != nil {
				return nil, nil, err
			}
			a.Rewind(mark)
			if want := (columnar.KeyRange{Low: 1000, High: 1000 + 99999, Near: 100000}); keys != want || report.Syncs != 1 || report.Launches != 1 {
				t.Errorf("%+v in place of %+v, %+v", keys, want, report)
			}
			return columnar.NPJ(ctx, d, s, a, j)
		}, columnartest.Case{Build: 100000, Probe: 1000, Keys: columnartest.Ascending(1000, 1), KeyBytes: keyBytes, Widths: [2][]int{{4}, {4}}, Expect: -1})
	}
}

// With little memory the table is fuller and row numbers are stored in the result's
// columns, so that the join stays within its bound.
func TestNPJShortOfMemory(t *testing.T) {
	r := columnartest.New(t, 1<<28)
	for _, c := range []columnartest.Case{
		{Build: 40000, Probe: 40000, Keys: columnartest.Spread(2000), KeyBytes: 4, Widths: [2][]int{{16, 8}, {4}}},
		{Build: 400000, Probe: 400000, Keys: columnartest.Spread(400000), KeyBytes: 4, Widths: [2][]int{{1}, {2}}},
		{Build: 40000, Probe: 50000, Keys: columnartest.Ascending(77, 1), KeyBytes: 8, Widths: [2][]int{{4, 4}, {4}}},
	} {
		c.Expect = -1
		r.Inner(columnar.NPJ, c)
	}
}

// If the module lacks a kernel, the join ends with an error that names it, whatever is
// done with the kernel before.
func TestMissingKernel(t *testing.T) {
	r := columnartest.New(t, 1<<20)
	key := columnar.Column{Addr: r.Arena.Base(), Bytes: 4}
	j := columnar.Join{Build: columnar.Side{Key: key}, Probe: columnar.Side{Key: key}}
	_, _, err := columnar.Run(context.Background(), r.Context, r.Stream, r.Arena, &j, "none", func(ctx context.Context, b *columnar.Job) (*columnar.Output, error) {
		k := b.Kernel("gj_none_k%d", 1)
		b.Launch(k, b.Grid(k, int64(k.Rows)+1), b.Take(8))
		_, err := b.Rows(ctx, b.Take(8))
		return &columnar.Output{}, err
	})
	if err == nil || !strings.Contains(err.Error(), "gj_none_k1") {
		t.Errorf("without a kernel: %v", err)
	}
}
