package exec_test

import (
	"math"
	"slices"
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

// The predictions for an exchange are within a tenth of the times measured on two H200 (bench-multi's
// host-build).
func TestPredictionsOfAnExchange(t *testing.T) {
	rates := costmodel.DefaultDeviceRates
	rates.LinkInGB, rates.LinkOutGB = 54, 54
	for _, c := range []struct {
		gb, exchanged float64
	}{{8, 174.8}, {16, 355.6}, {24, 555.8}} {
		rows := int(c.gb * 1e9 / 16)
		plan, inputs := sized(rows, rows, joincore.Inner)
		plan.Root = &joincore.Aggregate{Child: plan.Root, ID: 2, Rows: 1, Functions: []joincore.Function{
			{Kind: joincore.Sum, Arg: joincore.ColumnRef{Input: 0, Column: 1}}, {Kind: joincore.Sum, Arg: joincore.ColumnRef{Input: 1, Column: 1}},
		}}
		plan.Output = []joincore.ColumnRef{{Input: 2}, {Input: 2, Column: 1}}
		checked := suite.Checked(t, plan)
		exchanged := exec.PredictDevices(checked, inputs, exec.Spread{Devices: 2, Divided: []int{0, 1}, How: costmodel.Exchange, PeerGB: 390}, &rates)
		if exchanged < 0.9*c.exchanged || exchanged > 1.1*c.exchanged {
			t.Errorf("inputs of %v GB: %.1f ms are predicted, %.1f were measured", c.gb, exchanged, c.exchanged)
		}
		if four := exec.PredictDevices(checked, inputs, exec.Spread{Devices: 4, Divided: []int{0, 1}, How: costmodel.Exchange, PeerGB: 390}, &rates); four > 0.6*exchanged {
			t.Errorf("inputs of %v GB: %.1f ms on four devices, %.1f on two", c.gb, four, exchanged)
		}
	}
}

// Rows that are exchanged through the memory of the host cross both links of the host more slowly than those
// between devices; compressed, they take less than as they are. Where no rate is known, the join is that of
// one device's rows.
func TestPredictionsOfAStagedExchange(t *testing.T) {
	rates := costmodel.DefaultDeviceRates
	const rows = 1 << 29
	plan, inputs := sized(rows, rows, joincore.Inner)
	predict := func(peerGB, exchangeGB float64) float64 {
		return exec.PredictDevices(suite.Checked(t, plan), inputs, exec.Spread{Devices: 2, Divided: []int{0, 1}, How: costmodel.Exchange, PeerGB: peerGB, ExchangeGB: exchangeGB}, &rates)
	}
	const sent = 2 * rows / 2 * 16 / 2 // of both sides, half of a device's rows
	direct, staged, slow := predict(390, 0), predict(0, 50), predict(0, 5)
	for name, c := range map[string]struct{ more, link float64 }{"50 GB/s": {staged - direct, 50}, "5 GB/s": {slow - direct, 5}} {
		plain := sent/c.link/1e6 - sent/390/1e6
		if c.more > 0.8*plain || c.more < 0.4*plain {
			t.Errorf("%s: %.1f ms more than over fast links, %.1f without compression", name, c.more, plain)
		}
	}
	if got := predict(390, 50); got != staged {
		t.Errorf("%.1f ms over a staged exchange between peers, %.1f without peers", got, staged)
	}
}

// Of a build side that devices hold together and a long probe side on the host, a table of all of them is predicted
// to take less than half of what it takes to partition both inputs through the host's memory, because rows cross
// a link once. Where the device holds the inputs, dividing them takes no longer than that, as it was measured.
func TestPredictionsOfATable(t *testing.T) {
	rates := costmodel.DefaultDeviceRates
	rates.LinkInGB, rates.LinkOutGB = 54, 54
	predict := func(build, probe int, s exec.Spread) float64 {
		plan, inputs := sized(build, probe, joincore.Inner)
		plan.Root.(*joincore.Join).Rows = float64(probe)
		plan.Root = &joincore.Aggregate{Child: plan.Root, ID: 2, Rows: 1, Functions: []joincore.Function{{Kind: joincore.Sum, Arg: joincore.ColumnRef{Input: 1, Column: 1}}, {Kind: joincore.Sum, Arg: joincore.ColumnRef{Input: 0, Column: 1}}}}
		plan.Output = []joincore.ColumnRef{{Input: 2}, {Input: 2, Column: 1}}
		s.Divided = []int{0, 1}
		return exec.PredictDevices(suite.Checked(t, plan), inputs, s, &rates)
	}
	const build, probe = 1 << 29, 1 << 30
	spread := predict(build, probe, exec.Spread{Devices: 2, How: costmodel.Spread, PeerGB: 390})
	divide := predict(build, probe, exec.Spread{Devices: 2, How: costmodel.Divide, PeerGB: 390})
	if spread < 239 || spread > 420 || spread > 0.65*divide {
		t.Errorf("%.1f ms with one table, %.1f ms through the host's memory", spread, divide)
	}
	if four := predict(build, probe, exec.Spread{Devices: 4, How: costmodel.Spread, PeerGB: 390}); four > 0.7*spread {
		t.Errorf("%.1f ms on four devices, %.1f ms on two", four, spread)
	}
	if slow := predict(build, probe, exec.Spread{Devices: 2, How: costmodel.Spread, PeerGB: 39}); slow < 1.2*spread {
		t.Errorf("%.1f ms over links of 39 GB/s, %.1f ms over ten times as fast ones", slow, spread)
	}
	for _, c := range []struct{ gb, divided float64 }{{8, 191.6}, {16, 382.4}, {24, 610}} {
		rows := int(c.gb * 1e9 / 16)
		held := predict(rows, rows, exec.Spread{Devices: 2, How: costmodel.Divide, Held: 64 << 30})
		if held < 0.9*c.divided || held > 1.1*c.divided {
			t.Errorf("inputs of %v GB that stay on devices: %.1f ms are predicted, %.1f were measured", c.gb, held, c.divided)
		}
	}
}

// A hybrid table is predicted to take as long as one on devices if these have memory for it, and longer the more of it is
// on the host, on one device or several.
func TestPredictionsOfAHybridTable(t *testing.T) {
	const build, probe = 1 << 28, 1 << 29
	predict := func(how costmodel.Strategy, devices int, memory int64) float64 {
		plan, inputs := sized(build, probe, joincore.Inner)
		s := exec.Spread{Devices: devices, Divided: []int{0, 1}, How: how, Table: memory}
		if devices > 1 {
			s.PeerGB = 390
		}
		return exec.PredictDevices(suite.Checked(t, plan), inputs, s, &costmodel.DefaultDeviceRates)
	}
	if on, off := predict(costmodel.Spread, 2, 0), predict(costmodel.Hybrid, 2, 64<<30); on != off {
		t.Errorf("%.1f ms on devices, %.1f if some could be on the host", on, off)
	}
	for _, devices := range []int{1, 2} {
		const columns = 16 * build
		before := 0.0
		for _, memory := range []int64{64 << 30, 7 << 30, 13 << 29, 6 << 30, 11 << 29, 5 << 30} {
			memory /= int64(devices)
			ms := predict(costmodel.Hybrid, devices, memory)
			if ms <= before || math.IsNaN(ms) {
				t.Errorf("%d devices, %.1f GiB: %.1f ms, with more memory %.1f", devices, float64(memory)/(1<<30), ms, before)
			}
			before = ms
		}
		all := predict(costmodel.Hybrid, devices, columns/int64(devices)) // no slot is on a device
		if least := probe / 0.05 / 1e6 / float64(devices); all < least || all > 2*least {
			t.Errorf("%d devices: %.1f ms for %.1f ms of reads", devices, all, least)
		}
	}
}

// A text costs rows that meet 4 bytes on the links between devices, its row's id, and nothing on those to
// the host. Of a column that groups carry by row id each device reads all values.
func TestPredictionsOfRowIDs(t *testing.T) {
	const rows = 100_000_000
	rates := costmodel.DefaultDeviceRates
	predict := func(how costmodel.Strategy, peerGB float64, change func(*joincore.Plan)) float64 {
		plan, inputs := sized(rows, rows, joincore.Inner)
		for i := range inputs {
			inputs[i].Columns = append(slices.Clip(inputs[i].Columns), joincore.Column{Kind: joincore.Varlena, Align: 4})
			plan.Inputs[i].Columns = inputs[i].Columns
		}
		change(plan)
		return exec.PredictDevices(suite.Checked(t, plan), inputs, exec.Spread{Devices: 2, Divided: []int{0, 1}, How: how, PeerGB: peerGB}, &rates)
	}
	same := func(*joincore.Plan) {}
	text := func(input int) func(*joincore.Plan) {
		return func(p *joincore.Plan) { p.Output = append(p.Output, joincore.ColumnRef{Input: input, Column: 2}) }
	}
	const fast, slow = 390, 150 // neither has rows compressed
	more := func(peerGB float64) float64 {
		return predict(costmodel.Exchange, peerGB, text(0)) - predict(costmodel.Exchange, peerGB, same)
	}
	// Half of each device's rows leave it, all of their ids.
	if ms, want := more(slow)-more(fast), rows/4*4/1e6*(1.0/slow-1.0/fast); ms < 0.99*want || ms > 1.01*want {
		t.Errorf("ids of %d rows take %.2f ms more on slow links, want %.2f", rows, ms, want)
	}
	if dear, free := predict(costmodel.Spread, slow, text(1)), predict(costmodel.Spread, slow, text(0)); dear <= free || free <= 0 {
		t.Errorf("ids that are read in the memory of all devices take %.1f ms, those of probe rows %.1f", dear, free)
	}
	grouped := func(carry ...joincore.ColumnRef) func(p *joincore.Plan) {
		return func(p *joincore.Plan) {
			p.Root = &joincore.Aggregate{Child: p.Root, ID: 2, Rows: 1, Keys: []joincore.Value{joincore.ColumnRef{}}, Carry: carry}
			p.Output = []joincore.ColumnRef{{Input: 2}}
		}
	}
	number := joincore.ColumnRef{Input: 0, Column: 1}
	upload := rows * 8 / rates.LinkInGB / 1e6
	for how, want := range map[costmodel.Strategy]float64{costmodel.Exchange: upload, costmodel.Divide: upload / 2} {
		if ms := predict(how, fast, grouped(number)) - predict(how, fast, grouped()); ms < 0.95*want {
			t.Errorf("%v: a carried column costs %.1f ms, its upload %.1f", how, ms, want)
		}
	}
}
