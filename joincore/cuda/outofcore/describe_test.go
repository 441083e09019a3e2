//go:build cuda

package outofcore

import (
	"testing"

	layouts "gpujoin/testsupport/columnartest"
)

func TestDescriptorsAreThoseOfTheKernels(t *testing.T) {
	layouts.Layout(t, "../kernels/layout/divide.h", "gj_divide", divideDescriptor{})
	layouts.Layout(t, "../kernels/layout/divide.h", "gj_moved", movedDescriptor{})
	layouts.Layout(t, "../kernels/layout/divide.h", "gj_range", rangeDescriptor{})
	layouts.Layout(t, "../kernels/layout/divide.h", "gj_widen", widenDescriptor{})
}
