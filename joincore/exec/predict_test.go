package exec_test

import (
	"testing"

	"gpujoin/joincore"
	"gpujoin/joincore/costmodel"
	"gpujoin/joincore/cpu"
	"gpujoin/joincore/exec"
	"gpujoin/testsupport/suite"
)

// flatRates are cores that take 20 ns a row at every size.
func flatRates() *costmodel.Rates {
	r := &costmodel.Rates{ColumnNS: 0.5, NPJRows: 1 << 18}
	for i := range costmodel.Points {
		r.BuildNS[i], r.ProbeNS[i] = 20, 20
	}
	return r
}

// sized returns a plan over two inputs of left and right rows, whose values are
// not read.
func sized(left, right int, kind joincore.Kind) (*joincore.Plan, []*joincore.Relation) {
	columns := []joincore.Column{{Kind: joincore.Fixed, Width: 8, Align: 8}, {Kind: joincore.Fixed, Width: 8, Align: 8}}
	of := func(rows int) *joincore.Relation {
		return &joincore.Relation{Columns: columns, Segments: []joincore.Segment{{Rows: rows}}}
	}
	plan := &joincore.Plan{
		Inputs: []joincore.Input{{Columns: columns, Rows: float64(left)}, {Columns: columns, Rows: float64(right)}},
		Root: &joincore.Join{
			Kind: kind, Left: &joincore.Scan{Input: 0}, Right: &joincore.Scan{Input: 1},
			Keys: []joincore.KeyPair{{Left: joincore.ColumnRef{Input: 0}, Right: joincore.ColumnRef{Input: 1}, Class: joincore.KeyInt}},
			Rows: float64(left),
		},
		Output: []joincore.ColumnRef{{Input: 0, Column: 1}, {Input: 1, Column: 1}},
	}
	return plan, []*joincore.Relation{of(left), of(right)}
}

// Small joins are faster on cores, large ones on a device, and many cores move
// the point from where that is so.
func TestPredictionsTellSmallFromLarge(t *testing.T) {
	rates, device := flatRates(), &costmodel.DefaultDeviceRates
	for _, c := range []struct {
		rows, cores int
		device      bool
	}{
		{10_000, 1, false}, {10_000, 64, false},
		{1_000_000, 1, true}, {1_000_000, 16, false},
		{100_000_000, 16, true},
	} {
		for _, kind := range []joincore.Kind{joincore.Inner, joincore.Left} {
			plan, inputs := sized(c.rows, c.rows, kind)
			cores, gpu := exec.PredictCores(suite.Checked(t, plan), inputs, rates, c.cores), exec.PredictDevice(suite.Checked(t, plan), inputs, device, nil)
			if (gpu < cores) != c.device {
				t.Errorf("%d rows: %.1f ms on %d cores, %.1f on the device", c.rows, cores, c.cores, gpu)
			}
		}
	}
}

// The link's speed counts, and so do its bytes.
func TestTheLinkIsPartOfAPrediction(t *testing.T) {
	plan, inputs := sized(10_000_000, 10_000_000, joincore.Inner)
	slow := costmodel.DefaultDeviceRates
	slow.LinkInGB, slow.LinkOutGB = 5.5, 5.5
	fast := exec.PredictDevice(suite.Checked(t, plan), inputs, &costmodel.DefaultDeviceRates, nil)
	// 4 columns in, 2 out, of 80 MB each.
	if more := exec.PredictDevice(suite.Checked(t, plan), inputs, &slow, nil) - fast; more < 6*80/5.5*0.89 || more > 6*80/5.5*0.91 {
		t.Errorf("a tenth of the speed costs %.1f ms", more)
	}
}

// What crosses the link decides where a table is grouped: cores read it where it lies.
// Above a join on the device, grouping saves the way back.
func TestPredictionsOfAggregates(t *testing.T) {
	rates, device := flatRates(), &costmodel.DefaultDeviceRates
	grouped := func(child joincore.Node, key, arg joincore.ColumnRef) *joincore.Aggregate {
		return &joincore.Aggregate{Child: child, ID: 2, Rows: 100, Keys: []joincore.Value{key}, Functions: []joincore.Function{{Kind: joincore.Sum, Arg: arg}}}
	}
	const rows, cores = 50_000_000, 16
	plan, inputs := sized(rows, rows, joincore.Inner)
	joined := exec.PredictDevice(suite.Checked(t, plan), inputs, device, nil)
	onCores := exec.PredictCores(suite.Checked(t, plan), inputs, rates, cores)
	plan.Root = grouped(plan.Root, joincore.ColumnRef{}, joincore.ColumnRef{Input: 1, Column: 1})
	plan.Output = []joincore.ColumnRef{{Input: 2}, {Input: 2, Column: 1}}
	if above := exec.PredictDevice(suite.Checked(t, plan), inputs, device, nil); above >= joined || above >= exec.PredictCores(suite.Checked(t, plan), inputs, rates, cores) {
		t.Errorf("%.1f ms on the device, %.1f without the aggregate, %.1f on cores", above, joined, onCores)
	}
	plan.Inputs, inputs = plan.Inputs[:1], inputs[:1]
	a := grouped(&joincore.Scan{}, joincore.ColumnRef{}, joincore.ColumnRef{Column: 1})
	a.ID = 1
	plan.Root, plan.Output = a, []joincore.ColumnRef{{Input: 1}, {Input: 1, Column: 1}}
	fewer, all := exec.PredictCores(suite.Checked(t, plan), inputs, rates, 64), exec.PredictDevice(suite.Checked(t, plan), inputs, device, nil)
	if link := float64(rows*16) / device.LinkInGB / 1e6; all < link || fewer >= all {
		t.Errorf("a table of %d rows: %.1f ms on cores, %.1f on the device, %.1f of them on the link", rows, fewer, all, link)
	}
	a.Functions[0].Distinct = true
	if onCores, onDevice := exec.PredictCores(suite.Checked(t, plan), inputs, rates, 64), exec.PredictDevice(suite.Checked(t, plan), inputs, device, nil); onCores <= fewer || onDevice <= all {
		t.Errorf("of distinct values %.1f ms on cores, %.1f of all; on the device %.1f and %.1f", onCores, fewer, onDevice, all)
	}
}

// Cores predict every phase of the algorithms that they choose among.
func TestCoresPredictTheirPhases(t *testing.T) {
	relation := suite.Keyed(1<<14, func(row int) uint64 { return uint64(row) })
	plan := suite.PairPlan(relation, relation)
	for _, a := range []joincore.Algorithm{joincore.NPJ, joincore.PHJUM, joincore.PHJOM} {
		var stats joincore.Stats
		sink := suite.NewDiscarder(suite.Int64Columns(2), 4, 1<<13)
		err := suite.Run(t.Context(), cpu.New(), plan, []*joincore.Relation{relation, relation}, &suite.Arena{}, sink, exec.Options{
			Rates:  flatRates(),
			Decide: func(_ int, d costmodel.Decision) costmodel.Decision { d.Algorithm = a; return d },
		}, &stats)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range stats.Joins[0].Phases {
			if p.Predicted <= 0 {
				t.Errorf("%v: %s is not predicted", a, p.Name)
			}
		}
	}
}
