//go:build cuda

package smj

import (
	"slices"
	"testing"
	"unsafe"

	"gpujoin/joincore/cuda/check"
	"gpujoin/joincore/cuda/launch"
	"gpujoin/joincore/cuda/resident"
)

func TestJoins(t *testing.T) {
	for name, f := range map[string]resident.Func{"om": OM, "um": UM} {
		t.Run(name, func(t *testing.T) { check.New(t, 1<<28, launch.Close).Matrix(f, 4096, 8192) })
	}
}

// The sides are long enough for the kernels of many rows.
func TestLong(t *testing.T) {
	r := check.New(t, 1<<30, launch.Close)
	for _, c := range []check.Case{
		{KeyBytes: 4, Widths: [2][]int{{4, 1}, {2}}},
		{KeyBytes: 4, Widths: [2][]int{{16}, {8, 4}}},
		{KeyBytes: 8, Widths: [2][]int{{4}, {16, 1}}},
	} {
		c.Build, c.Probe, c.Expect = 2_000_000, 2_500_001, -1
		c.Keys = func(r *check.Rig, row int) uint64 { return (r.Rand.Uint64N(8 << 20)) * 0x9e3779b97f4a7c15 }
		r.Inner(OM, c)
		r.Inner(UM, c)
	}
}

func TestLayout(t *testing.T) {
	r := check.New(t, 1<<20, launch.Close)
	layout, err := launch.Layout(r.Context)
	r.Must(err)
	want := []uint64{uint64(unsafe.Sizeof(sortDescriptor{})), uint64(unsafe.Sizeof(mergeDescriptor{})), layout[2], uint64(unsafe.Sizeof(launch.Result{}))}
	if !slices.Equal(layout, want) {
		t.Errorf("the kernels' descriptors have the sizes %v in place of %v", layout, want)
	}
}
