package columnar

import (
	"errors"
	"testing"

	"gpujoin/joincore"
	"gpujoin/joincore/cuda/kernels"
)

// A join is refused if its rows have no numbers, or the bytes of its result overflow.
func TestCheckRows(t *testing.T) {
	for _, c := range []struct {
		build, probe, output int64
		ok, memory           bool
	}{
		{0, 0, 0, true, false}, {kernels.MaxRows - 1, kernels.MaxRows - 1, 1 << 48, true, false},
		{kernels.MaxRows, 1, 0, false, false}, {1, kernels.MaxRows, 0, false, false}, {-1, 1, 0, false, false},
		{1, 1, -1, false, true}, {1, 1, 1<<48 + 1, false, true}, {1, 1, 1 << 62, false, true},
	} {
		if err := checkRows([2]int64{c.build, c.probe}, c.output); (err == nil) != c.ok || errors.Is(err, joincore.ErrBudget) != c.memory {
			t.Errorf("%+v: %v", c, err)
		}
	}
}
