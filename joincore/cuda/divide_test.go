//go:build cuda

package cuda

import (
	"testing"

	layouts "gpujoin/joincore/cuda/check"
)

func TestDescriptorsAreThoseOfTheKernels(t *testing.T) {
	layouts.Layout(t, "kernels/divide.h", "gj_divide", divideDescriptor{})
	layouts.Layout(t, "kernels/divide.h", "gj_moved", movedDescriptor{})
	layouts.Layout(t, "kernels/general.h", "gj_part", partDescriptor{})
}
