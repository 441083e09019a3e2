package kernels_test

import "testing"

func TestSortKernelsOnTheHost(t *testing.T) { onHost(t, "sorts") }
