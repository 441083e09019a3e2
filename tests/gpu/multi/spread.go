//go:build cuda

package multi

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"sync"

	"gpujoin/joincore/costmodel"
	"gpujoin/joincore/cuda/columnar"
	"gpujoin/tests/columndata"
	"gpujoin/tests/measure"
)

// Rows of the tables in the memory of several devices: keys of 4 bytes, so that a probe row makes one random
// read. A table of two slots a row is far beyond any cache.
const (
	spreadBuild = 1 << 27
	spreadProbe = 1 << 28
)

// ofFormula is what was measured as a part of what the formula says, as bars name it.
const ofFormula = "of the formula"

// measureSpread measures random reads of a hash table of which other devices have a part of the units, by one
// device, and by all of them at once of an interleaved table. The formula (Fast-IC, section 6.3)
// says how many these are from what one device reads of its own memory alone, and of others' alone:
// devices / (own / local + (1 - own) / peer), where own is the part of the table that a device has.
func (b *bench) measureSpread(ctx context.Context) (err error) {
	d, err := b.openDevices(shares)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.close()) }()
	parts, err := d.fill(ctx, joinCase{name: "spread", Case: columndata.Case{
		Build: spreadBuild / int64(b.shrink), Probe: spreadProbe / int64(b.shrink), Key: 4,
		Distinct: spreadBuild / int64(b.shrink), Domain: spreadBuild / int64(b.shrink),
	}})
	if err != nil {
		return err
	}
	rows := []string{"devices that probe\town units\tG reads/s\tformula\tof it\tbuild, ms\tbar"}
	report := func(probing int, own, rate, formula, build float64, ms []float64) {
		verdict := ""
		if bar := measure.BarOf(suite, "spread", ofFormula); bar.Exists() && formula != rate {
			verdict = fmt.Sprintf("%v %s: %v", bar, ofFormula, !b.misses("spread", ofFormula, rate/formula))
		}
		rows = append(rows, fmt.Sprintf("%d\t%.0f %%\t%.2f\t%.2f\t%.2f\t%.1f\t%s", probing, 100*own, rate, formula, rate/formula, build, verdict))
		b.results = append(b.results, measure.Result{
			Name: "spread", Engine: fmt.Sprintf("%d of %d devices, %s %% own", probing, len(d.members), strconv.FormatFloat(100*own, 'f', 0, 64)), Ms: ms,
			Values: map[string]float64{"G reads/s": measure.Round(rate, 3), "formula": measure.Round(formula, 3), ofFormula: measure.Round(rate/formula, 3)},
		})
	}
	var local, peer float64
	for _, own := range []float64{1, 0, 0.25, 0.5, 0.75} {
		rate, build, ms, err := b.timeSpread(ctx, d, spreadMembers(d, parts), parts, 1, columnar.Placing{On: placeOwn(own, len(d.members))})
		if err != nil {
			return err
		}
		formula := rate // of the two rates that the others follow from
		switch own {
		case 1:
			local = rate
		case 0:
			peer = rate
		default:
			formula = 1 / (own/local + (1-own)/peer)
		}
		report(1, own, rate, formula, build, ms)
	}
	n := len(d.members)
	rate, build, ms, err := b.timeSpread(ctx, d, spreadMembers(d, parts), parts, n, columnar.Placing{On: costmodel.Interleave})
	if err != nil {
		return err
	}
	own := costmodel.Locality(costmodel.Interleave(64*n, slices.Repeat([]int{64}, n)), 0)
	report(n, own, rate, float64(n)/(own/local+(1-own)/peer), build, ms)
	if err := measure.Table(os.Stdout, rows...); err != nil {
		return err
	}
	return b.measureHybrid(ctx, d, parts)
}

// placeOwn places a part of the units, evenly among the others, on the first device, and the others in turn on the
// other devices.
func placeOwn(own float64, devices int) columnar.Placement {
	return func(units int, _ []int) []int {
		place, others := make([]int, units), 0
		for u := range place {
			if int(float64(u+1)*own) > int(float64(u)*own) {
				continue
			}
			place[u] = 1 + others%(devices-1)
			others++
		}
		return place
	}
}

// spreadMembers returns the devices with their parts of the build side.
func spreadMembers(d *devices, parts []columnar.Join) (list []columnar.SpreadMember) {
	for i := range parts {
		m := d.members[i]
		list = append(list, columnar.SpreadMember{Device: m.Device, Stream: m.Stream, Arena: m.Arena, Build: parts[i].Build})
	}
	return list
}

// timeSpread builds a table and has the first devices probe it at once, several times. It returns the reads
// of all of them together, 1e9 a second, and the ms of the build and of each time.
func (b *bench) timeSpread(ctx context.Context, d *devices, members []columnar.SpreadMember, parts []columnar.Join, probing int, where columnar.Placing) (rate, build float64, all []float64, err error) {
	defer d.rewind()
	table, err := columnar.BuildSpread(ctx, members, where)
	if err != nil {
		return 0, 0, nil, err
	}
	reads := int64(0)
	for i := range probing {
		reads += parts[i].Probe.Rows
	}
	for i := range b.repeats + 1 {
		ms, errs := make([]float64, probing), make([]error, probing)
		var wait sync.WaitGroup
		for p := range probing {
			wait.Go(func() { ms[p], errs[p] = probeSpread(ctx, table, p, &members[p], &parts[p]) })
		}
		wait.Wait()
		if err := errors.Join(errs...); err != nil {
			return 0, 0, nil, err
		}
		if i > 0 {
			all = append(all, slices.Max(ms))
		}
	}
	return float64(reads) / measure.Median(all) / 1e6, table.MS, all, nil
}

// probeSpread has a device probe a table with its rows, each of which has one partner. It returns the ms.
func probeSpread(ctx context.Context, table *columnar.SpreadTable, device int, m *columnar.SpreadMember, part *columnar.Join) (float64, error) {
	mark := m.Arena.Mark()
	defer m.Arena.Rewind(mark)
	join := columnar.Join{Build: part.Build, Probe: part.Probe, OutputRows: part.Probe.Rows, NoKey: true}
	out, report, err := table.Probe(device)(ctx, m.Device, m.Stream, m.Arena, &join)
	if err != nil {
		return 0, err
	}
	if out.Rows != part.Probe.Rows {
		return 0, fmt.Errorf("device %d: %d probe rows have %d partners", device, part.Probe.Rows, out.Rows)
	}
	return report.MS, nil
}
