//go:build cuda

package npj

import (
	"testing"
	"unsafe"

	"gpujoin/joincore/cuda/check"
	"gpujoin/joincore/cuda/launch"
)

func TestJoins(t *testing.T) { check.New(t, 1<<28, launch.Close).Matrix(Run, 256, 1024) }

func TestLayout(t *testing.T) {
	r := check.New(t, 1<<20, launch.Close)
	layout, err := launch.Layout(r.Context)
	r.Must(err)
	if want := uint64(unsafe.Sizeof(tableDescriptor{})); layout[2] != want {
		t.Errorf("the kernels' descriptor has %d bytes in place of %d", layout[2], want)
	}
}
