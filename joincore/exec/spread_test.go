package exec_test

import (
	"testing"

	"gpujoin/joincore"
	"gpujoin/joincore/costmodel"
	"gpujoin/joincore/exec"
	"gpujoin/testsupport/suite"
)

// Contents that devices have need not cross the link.
func TestPredictionsOfResidentColumns(t *testing.T) {
	rates := &costmodel.DefaultDeviceRates
	plan, inputs := sized(10_000_000, 10_000_000, joincore.Inner)
	content := uint64(0)
	for _, r := range inputs {
		r.Segments = []joincore.Segment{{Rows: 5_000_000}, {Rows: 5_000_000}}
		for i := range r.Segments {
			r.Segments[i].Columns = make([]joincore.Vector, len(r.Columns))
			for j := range r.Columns {
				content++
				r.Segments[i].Columns[j].Content = content
			}
		}
	}
	predict := func(devices int, resident func(uint64) bool) float64 {
		return exec.PredictDevices(suite.Checked(t, plan), inputs, exec.Spread{Devices: devices, Divided: []int{1}, Resident: resident}, rates)
	}
	const all = 4 * 80 // MB of four columns
	none := predict(1, nil)
	for name, c := range map[string]struct {
		resident func(uint64) bool
		saved    float64 // MB
	}{
		"none": {func(uint64) bool { return false }, 0},
		"half": {func(c uint64) bool { return c%4 < 2 }, all / 2},
		"all":  {func(uint64) bool { return true }, all},
	} {
		if ms := none - predict(1, c.resident); ms < c.saved/rates.LinkInGB*0.99 || ms > c.saved/rates.LinkInGB*1.01 {
			t.Errorf("%s: %.2f ms are saved, of %.2f", name, ms, c.saved/rates.LinkInGB)
		}
	}
	if predict(2, func(uint64) bool { return true }) >= predict(2, nil) {
		t.Error("two devices upload what they have")
	}
}

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
		one := exec.PredictDevice(suite.Checked(t, plan), inputs, rates, nil)
		two := exec.PredictDevices(suite.Checked(t, plan), inputs, exec.Spread{Devices: 2, Divided: []int{1}, PeerGB: c.peerGB}, rates)
		if ratio := two / one; ratio < c.low || ratio > c.high {
			t.Errorf("%s: %.1f ms on one device, %.1f on two", name, one, two)
		}
	}
}

// The predictions for an exchange and for partitioning through the host are within a tenth of the times
// measured on two H200 (bench-multi's host-build; exec's constants are made from them).
func TestPredictionsOfTwoInputsThatAreDivided(t *testing.T) {
	rates := costmodel.DefaultDeviceRates
	rates.LinkInGB, rates.LinkOutGB = 54, 54
	for _, c := range []struct {
		gb, exchanged, partitioned float64
	}{{8, 174.8, 191.6}, {16, 355.6, 382.4}, {24, 555.8, 610}} {
		rows := int(c.gb * 1e9 / 16)
		plan, inputs := sized(rows, rows, joincore.Inner)
		plan.Root = &joincore.Aggregate{Child: plan.Root, ID: 2, Rows: 1, Functions: []joincore.Function{
			{Kind: joincore.Sum, Arg: joincore.ColumnRef{Input: 0, Column: 1}}, {Kind: joincore.Sum, Arg: joincore.ColumnRef{Input: 1, Column: 1}},
		}}
		plan.Output = []joincore.ColumnRef{{Input: 2}, {Input: 2, Column: 1}}
		checked := suite.Checked(t, plan)
		exchanged := exec.PredictDevices(checked, inputs, exec.Spread{Devices: 2, Divided: []int{0, 1}, PeerGB: 390}, &rates)
		partitioned := exec.PredictPartitioned(checked, inputs, 2, &rates)
		for _, p := range [][2]float64{{exchanged, c.exchanged}, {partitioned, c.partitioned}} {
			if p[0] < 0.9*p[1] || p[0] > 1.1*p[1] {
				t.Errorf("inputs of %v GB: %.1f ms are predicted, %.1f were measured", c.gb, p[0], p[1])
			}
		}
		if four := exec.PredictDevices(checked, inputs, exec.Spread{Devices: 4, Divided: []int{0, 1}, PeerGB: 390}, &rates); four > 0.6*exchanged {
			t.Errorf("inputs of %v GB: %.1f ms on four devices, %.1f on two", c.gb, four, exchanged)
		}
	}
}
