package sidecar

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gpujoin/joincore/costmodel"
	"gpujoin/joincore/cpu"
	"gpujoin/joincore/exec"
	"gpujoin/shm"
)

func newCalibration(t *testing.T) *Calibration {
	return &Calibration{
		Provider: cpu.New(), Path: filepath.Join(t.TempDir(), "rates"), Cores: 2, Memory: 1 << 30, Log: slog.New(slog.DiscardHandler),
	}
}

// TestRatesNeedMemory measures nothing where there is not enough memory for
// the smallest join, or the daemon's budget leaves too little of it.
func TestRatesNeedMemory(t *testing.T) {
	for _, c := range []Calibration{{Memory: 8 << 20}, {Memory: 1 << 30, Budget: 1020 << 20}} {
		k := newCalibration(t)
		k.Memory, k.Budget = c.Memory, c.Budget
		must(t, k.Update())
		if rates, source := k.Known(time.Now()); rates != costmodel.CautiousRates() || source != RatesDefault {
			t.Errorf("%s %+v", source, rates)
		}
		if _, err := os.Stat(k.Path); err == nil {
			t.Error("rates that were not measured are saved")
		}
	}
}

// ratesOf are rates that are told apart by the rate of the spot check.
func ratesOf(ns float64) costmodel.Rates {
	r := costmodel.TypicalRates
	r.ProbeNS[exec.SpotPoint] = ns
	return r
}

// TestRatesInDoubt starts with a file of rates, and says what is used and what
// is in the file afterwards.
func TestRatesInDoubt(t *testing.T) {
	type measured struct{ ns, share float64 }
	for _, c := range []struct {
		name            string
		saved, spot     measured
		again           measured // by a full measurement
		want, wantSaved float64
	}{
		{"good", measured{17, 0.95}, measured{20, 0.9}, measured{}, 17, 17},
		{"slower than the machine", measured{104.9, 0.95}, measured{16.9, 0.9}, measured{17, 0.9}, 17, 17},
		{"faster than the machine", measured{16.9, 0.95}, measured{104.9, 0.9}, measured{105, 0.9}, 105, 105},
		{"no quiet moment for the check", measured{17, 0.95}, measured{104.9, 0.5}, measured{}, 17, 17},
		{"the check fails", measured{17, 0.95}, measured{}, measured{}, 17, 17},
		{"measured on a busy machine", measured{17, 0.3}, measured{17, 0.9}, measured{18, 0.9}, 18, 18},
		{"on one that is busy still", measured{50, 0.3}, measured{17, 0.3}, measured{}, 50, 50},
		{"on one that was quiet for a moment", measured{50, 0.3}, measured{17, 0.9}, measured{40, 0.5}, 40, 40},
		{"on one that is busier now", measured{50, 0.3}, measured{17, 0.9}, measured{90, 0.2}, 50, 50},
	} {
		t.Run(c.name, func(t *testing.T) {
			k := newCalibration(t)
			must(t, (&costmodel.MeasuredRates{Key: k.key(), Share: c.saved.share, Rates: ratesOf(c.saved.ns)}).Save(k.Path))
			k.spot = func() (float64, float64, error) {
				if c.spot == (measured{}) {
					return 0, 0, errors.New("no memory")
				}
				return c.spot.ns, c.spot.share, nil
			}
			k.calibrate = func() (costmodel.Rates, float64, error) {
				if c.again == (measured{}) {
					t.Error("all was measured again")
				}
				return ratesOf(c.again.ns), c.again.share, nil
			}
			since := time.Now()
			must(t, k.Update())
			rates, source := k.Known(since)
			if again := c.again != (measured{}) && c.want == c.again.ns; (source == RatesMeasured) != again {
				t.Errorf("%s rates", source)
			}
			if ns := rates.ProbeNS[exec.SpotPoint]; ns != c.want {
				t.Errorf("%v ns are used, not %v", ns, c.want)
			}
			if saved, _ := k.read(); saved.Rates.ProbeNS[exec.SpotPoint] != c.wantSaved {
				t.Errorf("%v ns are saved, not %v", saved.Rates.ProbeNS[exec.SpotPoint], c.wantSaved)
			}
		})
	}
}

// TestMeasure measures on demand, whatever the file says.
func TestMeasure(t *testing.T) {
	c := newCalibration(t)
	must(t, (&costmodel.MeasuredRates{Key: c.key(), Share: 1, Rates: ratesOf(17)}).Save(c.Path))
	c.calibrate = func() (costmodel.Rates, float64, error) { return ratesOf(18), 0.8, nil }
	m, err := c.Measure()
	saved, found := c.read()
	if err != nil || !m.Quiet() || !found || saved.Rates != ratesOf(18) || saved.Share != 0.8 || saved.At.IsZero() {
		t.Errorf("%+v, %v; saved %+v", m, err, saved)
	}
}

// A reader of the file gets all of the old rates or all of the new ones, and no
// other file stays behind.
func TestRatesAreReplacedAsAWhole(t *testing.T) {
	c := newCalibration(t)
	must(t, (&costmodel.MeasuredRates{Key: c.key(), Share: 1, Rates: ratesOf(17)}).Save(c.Path))
	old, err := os.Open(c.Path)
	must(t, err)
	defer old.Close()
	must(t, (&costmodel.MeasuredRates{Key: c.key(), Share: 1, Rates: ratesOf(18)}).Save(c.Path))
	var m costmodel.MeasuredRates
	if err := json.NewDecoder(old).Decode(&m); err != nil || m.Rates != ratesOf(17) {
		t.Errorf("the old file holds %+v, %v", m, err)
	}
	if m, found := c.read(); !found || m.Rates != ratesOf(18) {
		t.Errorf("the new file holds %+v, %v", m, found)
	}
	if files, err := os.ReadDir(filepath.Dir(c.Path)); len(files) != 1 || err != nil {
		t.Errorf("%v, %v", files, err)
	}
}

// A daemon serves before its rates are measured: it runs joins meanwhile, and
// publishes the rates once they are there. Its heartbeat goes on in the new file.
func TestJoinsRunWhileRatesAreMeasured(t *testing.T) {
	asked, answer := make(chan struct{}), make(chan costmodel.Rates)
	r := start(t, func(o *Options) {
		o.Rates = NewRates(costmodel.CautiousRates(), RatesDefault)
		o.Measure = func(ctx context.Context) (costmodel.Rates, RatesSource, error) {
			close(asked)
			return <-answer, RatesMeasured, nil
		}
	}, nil)
	<-asked
	status := func() (source string, s shm.Status) {
		c := r.dial(1)
		defer c.Close()
		text, err := c.Status()
		must(t, err)
		var report struct{ Rates string }
		must(t, json.Unmarshal(text, &report))
		b, err := os.ReadFile(r.path + ".status")
		must(t, err)
		s, err = shm.DecodeStatus(b)
		must(t, err)
		return report.Rates, s
	}
	source, s := status()
	if source != "default" || s.BuildNS != costmodel.CautiousRates().BuildNS {
		t.Errorf("at first: %s %v", source, s.BuildNS)
	}
	rows := tableRows(100, 10, "x")
	b := r.dial(2)
	got := joined(t, b, shm.Open{}, joinJob(len(rows), len(rows), len(rows)), rows)
	sameRows(t, got, joinOf(rows, rows))
	b.Close()

	answer <- ratesOf(17)
	r.eventually("the rates are published", func() (bool, string) {
		source, s := status()
		return source == "measured" && s.ProbeNS == ratesOf(17).ProbeNS, fmt.Sprintf("%s %v", source, s.ProbeNS)
	})
	_, s = status()
	if !s.Load.Whole() || s.Load.Beats == 0 {
		t.Errorf("the new file has the load %+v", s.Load)
	}
	r.eventually("the heart beats in the new file", func() (bool, string) {
		_, now := status()
		return now.Load.Beats > s.Load.Beats, fmt.Sprintf("%+v", now.Load)
	})
	if *r.srv.options.Rates.Now() != ratesOf(17) {
		t.Errorf("joins use %+v", r.srv.options.Rates.Now())
	}
}

// A measurement that fails, or is still running when the daemon stops, does no harm.
func TestRatesThatAreNeverMeasured(t *testing.T) {
	log, err := os.Create(filepath.Join(t.TempDir(), "log"))
	must(t, err)
	defer log.Close()
	r := start(t, func(o *Options) {
		o.Log = slog.New(slog.NewTextHandler(log, nil))
		o.Measure = func(context.Context) (costmodel.Rates, RatesSource, error) {
			return costmodel.Rates{}, RatesMeasured, errors.New("no quiet moment")
		}
	}, nil)
	r.eventually("the failure is in the log", func() (bool, string) {
		text, err := os.ReadFile(log.Name())
		must(t, err)
		return strings.Contains(string(text), "no quiet moment") && strings.Contains(string(text), "source=default"), string(text)
	})
	if *r.srv.options.Rates.Now() != costmodel.TypicalRates {
		t.Errorf("joins use %+v", r.srv.options.Rates.Now())
	}
	ctx := make(chan context.Context, 1)
	start(t, func(o *Options) { // its end cancels the measurement
		o.Measure = func(c context.Context) (costmodel.Rates, RatesSource, error) {
			ctx <- c
			<-c.Done()
			return costmodel.Rates{}, "", c.Err()
		}
	}, nil)
	<-ctx
}
