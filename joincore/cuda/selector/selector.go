//go:build cuda

package selector

import (
	"context"
	"errors"
	"maps"
	"sync"
	"time"

	"gpujoin/joincore"
	"gpujoin/joincore/costmodel"
	"gpujoin/joincore/cuda/columnar"
	"gpujoin/joincore/cuda/columnar/npj"
	"gpujoin/joincore/cuda/columnar/phj"
	"gpujoin/joincore/cuda/columnar/smj"
	"gpujoin/joincore/cuda/driver"
)

// rates of devices that were measured; the others have defaults.
var rates sync.Map // *driver.Context to *choose.DeviceRates

// Use makes joins on a device be chosen by those rates from now on.
func Use(d *driver.Context, r costmodel.DeviceRates) { rates.Store(d, &r) }

// Forget drops the rates of a context that is being closed.
func Forget(d *driver.Context) { rates.Delete(d) }

// Rates returns those that joins on a device are chosen by.
func Rates(d *driver.Context) *costmodel.DeviceRates {
	if r, ok := rates.Load(d); ok {
		return r.(*costmodel.DeviceRates)
	}
	return &costmodel.DefaultDeviceRates
}

// Run chooses and joins. Where the range of the build keys may change the choice
// it is looked for first. Where a sample may change it the join begins as a
// partitioned one, which takes it, and goes elsewhere if it does. A join for
// which the chosen algorithm lacks memory after all is partitioned.
func Run(ctx context.Context, d *driver.Context, s *driver.Stream, a *driver.Arena, j *columnar.Join) (*columnar.Output, *columnar.Report, error) {
	r, described := Rates(d), describe(j, a.Free())
	c := chooser{rates: r, join: described, plain: j.RowIDs || len(described.Payload[0])+len(described.Payload[1]) == 0}
	start, mark := time.Now(), a.Mark()
	before, run := spent{}, algorithms
	if c.looks() {
		keys, report, err := npj.Look(ctx, d, s, a, j)
		a.Rewind(mark)
		if err != nil {
			return nil, nil, err
		}
		c.learn(keys)
		run = withRange(keys)
		before = spent{look: report, price: r.RangeMS(&described), ms: since(start)}
	}
	if m, partition := c.first(); partition {
		out, report, err := phj.Run(ctx, d, s, a, j, phj.Options{Rates: r, Elsewhere: c.elsewhere, Materialise: c.materialise(m)})
		if !errors.Is(err, phj.ErrElsewhere) {
			return before.report(out, report, m, err)
		}
		a.Rewind(mark)
	}
	before.ms = since(start)
	m := c.other
	out, report, err := run[m.Algorithm](ctx, d, s, a, j)
	if errors.Is(err, joincore.ErrBudget) {
		a.Rewind(mark)
		m, before.ms = costmodel.Method{}, since(start) // nobody has priced this
		out, report, err = phj.Run(ctx, d, s, a, j, phj.Options{Rates: r})
	}
	return before.report(out, report, m, err)
}

func since(start time.Time) float64 { return float64(time.Since(start)) / float64(time.Millisecond) }

var algorithms = map[joincore.Algorithm]columnar.Func{joincore.NPJ: npj.Run, joincore.SMJUM: smj.UM, joincore.SMJOM: smj.OM}

// withRange returns the algorithms for build keys whose range is known.
func withRange(keys npj.Range) map[joincore.Algorithm]columnar.Func {
	known := maps.Clone(algorithms)
	known[joincore.NPJ] = npj.Within(keys)
	return known
}

// spent is what a choice took before the join that it led to; it is part of the
// join.
type spent struct {
	ms    float64
	look  *columnar.Report // for the range of the build keys; nil: there was none
	price float64          // what the model gives that
}

// report completes a join's report by what was spent before, and by what the
// model has given the method, unless a sample has told better.
func (s *spent) report(out *columnar.Output, report *columnar.Report, m costmodel.Method, err error) (*columnar.Output, *columnar.Report, error) {
	if err != nil {
		return out, report, err
	}
	if report.Predicted == nil {
		report.Predict(m.Prediction)
	}
	report.MS += s.ms
	report.WallMS += s.ms
	if s.look != nil {
		report.Launches += s.look.Launches
		report.Syncs += s.look.Syncs
		report.Bytes += s.look.Bytes
		report.Phases = append(s.look.Phases, report.Phases...)
		report.Predicted = append([]columnar.Phase{{Name: PhaseChoose, MS: s.price}}, report.Predicted...)
	}
	return out, report, nil
}

// describe describes a join before a sample.
func describe(j *columnar.Join, free int64) costmodel.Resident {
	d := costmodel.Resident{
		KeyBytes: j.Build.Key.Bytes, Rows: [2]int64{j.Build.Rows, j.Probe.Rows}, MatchRatio: 1, ResultRows: j.OutputRows,
	}
	for i, s := range []*columnar.Side{&j.Build, &j.Probe} {
		if j.RowIDs {
			d.Payload[i] = []int{4}
			continue
		}
		for _, c := range s.Payload {
			d.Payload[i] = append(d.Payload[i], c.Bytes)
		}
	}
	return Describe(d, j.OutputRows, free)
}

// Predict models an algorithm for a join of which the share `match` of the
// probe rows has a partner.
func Predict(d *driver.Context, j *columnar.Join, a joincore.Algorithm, match float64) costmodel.Method {
	described := describe(j, 0)
	described.MatchRatio = match
	return Rates(d).Named(&described, a)
}
