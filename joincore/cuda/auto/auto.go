//go:build cuda

package auto

import (
	"context"
	"errors"
	"sync"
	"time"

	"gpujoin/joincore"
	"gpujoin/joincore/choose"
	"gpujoin/joincore/cuda/driver"
	"gpujoin/joincore/cuda/npj"
	"gpujoin/joincore/cuda/phj"
	"gpujoin/joincore/cuda/resident"
	"gpujoin/joincore/cuda/smj"
)

// rates of devices that were measured; the others have defaults.
var rates sync.Map // *driver.Context to *choose.DeviceRates

// Use makes joins on a device be chosen by those rates from now on.
func Use(d *driver.Context, r choose.DeviceRates) { rates.Store(d, &r) }

// Forget drops the rates of a context that is being closed.
func Forget(d *driver.Context) { rates.Delete(d) }

// Rates returns those that joins on a device are chosen by.
func Rates(d *driver.Context) *choose.DeviceRates {
	if r, ok := rates.Load(d); ok {
		return r.(*choose.DeviceRates)
	}
	return &choose.DefaultDeviceRates
}

// Run chooses and joins. Where a sample may change the choice the join begins
// as a partitioned one, which takes it, and goes elsewhere if it does. A join
// for which the chosen algorithm lacks memory after all is partitioned.
func Run(ctx context.Context, d *driver.Context, s *driver.Stream, a *driver.Arena, j *resident.Join) (*resident.Output, *resident.Report, error) {
	r, described := Rates(d), describe(j, a.Free())
	c := chooser{rates: r, join: described, plain: j.RowIDs || len(described.Payload[0])+len(described.Payload[1]) == 0}
	start, mark := time.Now(), a.Mark()
	if m, partition := c.first(); partition {
		out, report, err := phj.Run(ctx, d, s, a, j, phj.Options{Rates: r, Elsewhere: c.elsewhere, Materialise: c.materialise(m)})
		if !errors.Is(err, phj.ErrElsewhere) {
			return predicted(out, report, m, err)
		}
		a.Rewind(mark)
	}
	sampled := float64(time.Since(start)) / float64(time.Millisecond)
	out, report, err := algorithms[c.other.Algorithm](ctx, d, s, a, j)
	if errors.Is(err, joincore.ErrBudget) {
		a.Rewind(mark)
		return phj.Run(ctx, d, s, a, j, phj.Options{Rates: r})
	}
	if err == nil { // what was spent on the choice is part of the join
		report.MS += sampled
		report.WallMS += sampled
	}
	return predicted(out, report, c.other, err)
}

var algorithms = map[joincore.Algorithm]resident.Func{joincore.NPJ: npj.Run, joincore.SMJUM: smj.UM, joincore.SMJOM: smj.OM}

// predicted notes what the model has given the method, unless a sample has
// told better.
func predicted(out *resident.Output, report *resident.Report, m choose.Method, err error) (*resident.Output, *resident.Report, error) {
	if err == nil && report.Predicted == nil {
		report.Predict(m.Prediction)
	}
	return out, report, err
}

// describe describes a join before a sample.
func describe(j *resident.Join, free int64) choose.Resident {
	d := choose.Resident{
		KeyBytes: j.Build.Key.Bytes, Rows: [2]int64{j.Build.Rows, j.Probe.Rows}, MatchRatio: 1, ResultRows: j.OutputRows,
	}
	for i, s := range []*resident.Side{&j.Build, &j.Probe} {
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
func Predict(d *driver.Context, j *resident.Join, a joincore.Algorithm, match float64) choose.Method {
	described := describe(j, 0)
	described.MatchRatio = match
	return Rates(d).Named(&described, a)
}
