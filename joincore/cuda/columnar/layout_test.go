package columnar_test

import (
	"testing"

	"gpujoin/joincore/cuda/columnar"
	"gpujoin/testsupport/columnartest"
)

// The Go descriptors have the layout that the kernels read.
func TestLayout(t *testing.T) {
	for name, descriptor := range map[string]any{
		"gj_table": columnar.TableDescriptor{}, "gj_spread": columnar.SpreadDescriptor{}, "gj_sort": columnar.SortDescriptor{},
		"gj_merge": columnar.MergeDescriptor{}, "gj_equal_run": columnar.EqualRun{},
	} {
		columnartest.Layout(t, "../kernels/layout/sort.h", name, descriptor)
	}
}
