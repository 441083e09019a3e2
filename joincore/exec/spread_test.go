package exec_test

import (
	"testing"

	"gpujoin/joincore"
	"gpujoin/joincore/costmodel"
	"gpujoin/joincore/exec"
	"gpujoin/testsupport/suite"
)

// Several devices pay for large inputs: by their links if most rows are divided, and for
// sides of equal size only if they share what they upload.
func TestPredictionsOfSeveralDevices(t *testing.T) {
	rates := &costmodel.DefaultDeviceRates
	for name, c := range map[string]struct {
		left, right int
		peerGB      float64
		low, high   float64 // of the time of one device
	}{
		"small":                    {10_000, 10_000, 390, 1, 1.2},
		"one side is large":        {1_000_000, 100_000_000, 0, 0.5, 0.62},
		"both are large":           {100_000_000, 100_000_000, 0, 0.65, 0.85},
		"both are large and peers": {100_000_000, 100_000_000, 390, 0.5, 0.65},
	} {
		plan, inputs := sized(c.left, c.right, joincore.Inner)
		one := exec.PredictDevice(suite.Checked(t, plan), inputs, rates)
		two := exec.PredictDevices(suite.Checked(t, plan), inputs, exec.Spread{Devices: 2, Divided: 1, PeerGB: c.peerGB}, rates)
		if ratio := two / one; ratio < c.low || ratio > c.high {
			t.Errorf("%s: %.1f ms on one device, %.1f on two", name, one, two)
		}
	}
}
