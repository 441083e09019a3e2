//go:build cuda

package npj

import (
	"context"
	"strings"
	"testing"

	"gpujoin/joincore/cuda/check"
	"gpujoin/joincore/cuda/launch"
	"gpujoin/joincore/cuda/resident"
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

// A kernel that the module lacks ends the join with an error that names it,
// whatever is done with the kernel before the join asks for its rows.
func TestMissingKernel(t *testing.T) {
	r := check.New(t, 1<<20, launch.Close)
	key := resident.Column{Addr: r.Arena.Base(), Bytes: 4}
	j := resident.Join{Build: resident.Side{Key: key}, Probe: resident.Side{Key: key}}
	_, _, err := launch.Run(context.Background(), r.Context, r.Stream, r.Arena, &j, "none", func(ctx context.Context, b *launch.Job) (*resident.Output, error) {
		k := b.Kernel("gj_none_k%d", 1)
		b.Launch(k, b.Grid(k, int64(k.Rows)+1), b.Take(8))
		_, err := b.Rows(ctx, b.Take(8))
		return &resident.Output{}, err
	})
	if err == nil || !strings.Contains(err.Error(), "gj_none_k1") {
		t.Errorf("without a kernel: %v", err)
	}
}
