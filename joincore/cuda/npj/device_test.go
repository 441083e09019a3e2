//go:build cuda

package npj

import (
	"testing"

	"gpujoin/joincore/cuda/check"
	"gpujoin/joincore/cuda/launch"
)

func TestJoins(t *testing.T) { check.New(t, 1<<28, launch.Close).Matrix(Run, 256, 1024) }
