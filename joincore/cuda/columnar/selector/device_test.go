//go:build cuda

package selector

import (
	"context"
	"errors"
	"testing"

	"gpujoin/joincore"
	"gpujoin/joincore/costmodel"
	"gpujoin/joincore/cuda/columnar"
	"gpujoin/joincore/cuda/columnar/phj"
	"gpujoin/joincore/cuda/driver"
	"gpujoin/testsupport/columnartest"
)

func TestJoins(t *testing.T) { columnartest.New(t, 1<<28).Matrix(Run, 256, 1024) }

// Whichever algorithm the rates make the cheapest, it is chosen and returns the same
// rows.
func TestRatesChangeTheAlgorithmOnly(t *testing.T) {
	r := columnartest.New(t, 1<<28)
	c := columnartest.Case{Build: 30_000, Probe: 70_000, Keys: columnartest.Spread(50_000), KeyBytes: 4, Widths: [2][]int{{4, 8}, {4, 4}}, Expect: -1}
	for want, change := range map[string]func(*costmodel.DeviceRates){
		"npj": func(r *costmodel.DeviceRates) { r.PassGB, r.RankNS, r.MergeNS = 1, 1, 1 },
		"smj-om": func(r *costmodel.DeviceRates) {
			r.PassGB, r.RankNS, r.FindNS, r.FindCachedNS, r.CachedGps = 1, 1, 100, 100, 0.1
		},
	} {
		rates := costmodel.DefaultDeviceRates
		change(&rates)
		Use(r.Context, rates)
		got := ""
		r.Inner(func(ctx context.Context, d *driver.Context, s *driver.Stream, a *driver.Arena, j *columnar.Join) (*columnar.Output, *columnar.Report, error) {
			out, report, err := Run(ctx, d, s, a, j)
			if err == nil {
				got = report.Algorithm
			}
			return out, report, err
		}, c)
		if got != want {
			t.Errorf("%s is picked in place of %s", got, want)
		}
	}
}

// The key range is determined if tables are expensive and partitions more so.
// The report includes its time, and the result is unchanged.
func TestDenseKeysAreLookedFor(t *testing.T) {
	r := columnartest.New(t, 1<<28)
	rates := costmodel.DefaultDeviceRates
	rates.PassGB, rates.RankNS, rates.MergeNS, rates.EnterCachedNS, rates.FindCachedNS = 1, 1, 1, 100, 100
	Use(r.Context, rates)
	for _, c := range []struct {
		keys  func(*columnartest.Rig, int) uint64
		array bool
	}{{columnartest.Ascending(1000, 1), true}, {columnartest.Spread(50_000), false}, {columnartest.Ascending(1000, 3), false}} {
		r.Inner(func(ctx context.Context, d *driver.Context, s *driver.Stream, a *driver.Arena, j *columnar.Join) (*columnar.Output, *columnar.Report, error) {
			out, report, err := Run(ctx, d, s, a, j)
			if err == nil && (report.Phases[0].Name != "range" || report.Predicted[0].Name != PhaseChoose || report.Syncs < 2 || c.array && report.Algorithm != "npj/array") {
				t.Errorf("dense keys: %v; %+v", c.array, report)
			}
			return out, report, err
		}, columnartest.Case{Build: 30_000, Probe: 70_000, Keys: c.keys, KeyBytes: 8, Widths: [2][]int{{4, 8}, {4, 4}}, Expect: -1})
	}
}

// A join that changes its algorithm after the sample leaves arena and stream clean for
// the next one.
func TestGoingElsewhere(t *testing.T) {
	r := columnartest.New(t, 1<<28)
	c := columnartest.Case{Build: 30_000, Probe: 70_000, Keys: columnartest.Spread(50_000), KeyBytes: 4, Widths: [2][]int{{4, 4}, {4, 4}}, Expect: -1}
	r.Inner(func(ctx context.Context, d *driver.Context, s *driver.Stream, a *driver.Arena, j *columnar.Join) (*columnar.Output, *columnar.Report, error) {
		mark := a.Mark()
		asked := costmodel.Resident{}
		elsewhere := func(sampled costmodel.Resident) bool { asked = sampled; return true }
		if _, _, err := phj.Run(ctx, d, s, a, j, phj.Options{Sample: true, Elsewhere: elsewhere}); !errors.Is(err, phj.ErrElsewhere) {
			t.Errorf("%v in place of %v", err, phj.ErrElsewhere)
		}
		if asked.Rows != [2]int64{j.Build.Rows, j.Probe.Rows} || asked.MatchRatio < 0.1 || asked.MatchRatio > 0.9 {
			t.Errorf("the sample tells %+v", asked)
		}
		a.Rewind(mark)
		return algorithms[joincore.NPJ](ctx, d, s, a, j)
	}, c)
}
