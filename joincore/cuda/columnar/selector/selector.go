//go:build cuda

package selector

import (
	"context"
	"errors"
	"maps"
	"sync/atomic"
	"time"

	"gpujoin/joincore"
	"gpujoin/joincore/costmodel"
	"gpujoin/joincore/cuda/columnar"
	"gpujoin/joincore/cuda/columnar/phj"
	"gpujoin/joincore/cuda/driver"
)

// rates of devices: the defaults, until Use.
var rates = driver.PerContext[*atomic.Pointer[costmodel.DeviceRates]]{
	Make: func(*driver.Context) (*atomic.Pointer[costmodel.DeviceRates], error) {
		var r atomic.Pointer[costmodel.DeviceRates]
		r.Store(&costmodel.DefaultDeviceRates)
		return &r, nil
	},
	Release: func(*atomic.Pointer[costmodel.DeviceRates]) error { return nil },
}

// ratesOf returns where the rates of a device are.
func ratesOf(d *driver.Context) *atomic.Pointer[costmodel.DeviceRates] {
	r, _ := rates.Get(d) // Make does not fail
	return r
}

// Use makes r the rates by which joins on a device are chosen.
func Use(d *driver.Context, r costmodel.DeviceRates) { ratesOf(d).Store(&r) }

// Rates returns the rates by which joins on a device are chosen.
func Rates(d *driver.Context) *costmodel.DeviceRates { return ratesOf(d).Load() }

// Run chooses an algorithm and joins. If the range of the build keys may change the
// choice, Run determines it first. If a sample may change it, the join starts as a
// partitioned one, which takes the sample, and continues with another algorithm if the
// sample says so. If the chosen algorithm turns out to lack memory, Run uses a
// partitioned join.
func Run(ctx context.Context, d *driver.Context, s *driver.Stream, a *driver.Arena, j *columnar.Join) (*columnar.Output, *columnar.Report, error) {
	r, described := Rates(d), describe(j, a.Free())
	c := chooser{rates: r, join: described, plain: j.RowIDs || len(described.Payload[0])+len(described.Payload[1]) == 0}
	start, mark := time.Now(), a.Mark()
	before, run := spent{}, algorithms
	if c.looks() {
		keys, report, err := columnar.ReadKeyRange(ctx, d, s, a, j)
		a.Rewind(mark)
		if err != nil {
			return nil, nil, err
		}
		c.learn(keys)
		run = maps.Clone(algorithms)
		run[joincore.NPJ] = columnar.NPJWithin(keys)
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
		m, before.ms = costmodel.Method{}, since(start) // has no prediction
		out, report, err = phj.Run(ctx, d, s, a, j, phj.Options{Rates: r})
	}
	return before.report(out, report, m, err)
}

func since(start time.Time) float64 { return float64(time.Since(start)) / float64(time.Millisecond) }

var algorithms = map[joincore.Algorithm]columnar.Func{joincore.NPJ: columnar.NPJ, joincore.SMJUM: columnar.SMJUM, joincore.SMJOM: columnar.SMJOM}

// spent is the cost of a choice before the join that it led to; the join's report
// includes it.
type spent struct {
	ms    float64
	look  *columnar.Report // of determining the key range; nil: it was not
	price float64          // the model's prediction of that
}

// report adds the earlier costs to a join's report, and the method's prediction, unless
// one by a sample is there.
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

// describe describes a join before sampling.
func describe(j *columnar.Join, free int64) costmodel.Resident {
	d := costmodel.Resident{
		KeyBytes: j.Build.Key.Bytes, Rows: [2]int64{j.Build.Rows, j.Probe.Rows}, MatchRatio: 1, ResultRows: j.OutputRows,
	}
	for i, s := range []*columnar.Side{&j.Build, &j.Probe} {
		if d.Payload[i] = columnar.Widths(s.Payload); j.RowIDs {
			d.Payload[i] = []int{4}
		}
	}
	return Describe(d, j.OutputRows, free)
}

// Phases returns the phases of a report by the model's names, with the predictions, in
// the order of execution.
func Phases(r *columnar.Report) (list []joincore.Phase) {
	at := func(name string) *joincore.Phase {
		for i := range list {
			if list[i].Name == name {
				return &list[i]
			}
		}
		list = append(list, joincore.Phase{Name: name})
		return &list[len(list)-1]
	}
	for _, p := range r.Phases {
		at(PhaseOf(p.Name)).Actual += duration(p.MS)
	}
	for _, p := range r.Predicted {
		at(p.Name).Predicted += duration(p.MS)
	}
	return list
}

func duration(ms float64) time.Duration { return time.Duration(ms * float64(time.Millisecond)) }
