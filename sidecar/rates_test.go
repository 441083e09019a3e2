package sidecar

import (
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"gpujoin/joincore/costmodel"
	"gpujoin/joincore/cpu"
)

func newCalibration(t *testing.T) *Calibration {
	return &Calibration{
		Provider: cpu.New(), Path: filepath.Join(t.TempDir(), "rates"), Memory: 1 << 30, Log: slog.New(slog.DiscardHandler),
	}
}

// TestRatesNeedMemory measures nothing where there is not enough memory for
// the smallest join, and starts all the same.
func TestRatesNeedMemory(t *testing.T) {
	c := newCalibration(t)
	c.Memory = 8 << 20
	rates, err := c.Rates()
	if err != nil || rates != typicalRates {
		t.Errorf("%+v, %v", rates, err)
	}
	if _, err := os.Stat(c.Path); err == nil {
		t.Error("typical rates were saved as measured ones")
	}
}

// ratesOf are rates that are told apart by the rate of the spot check.
func ratesOf(ns float64) costmodel.Rates {
	r := typicalRates
	r.ProbeNS[costmodel.SpotPoint] = ns
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
			must(t, k.save(&MeasuredRates{Key: k.key(), Share: c.saved.share, Rates: ratesOf(c.saved.ns)}))
			k.hooks.spot = func() (float64, float64, error) {
				if c.spot == (measured{}) {
					return 0, 0, errors.New("no memory")
				}
				return c.spot.ns, c.spot.share, nil
			}
			k.hooks.calibrate = func() (costmodel.Rates, float64, error) {
				if c.again == (measured{}) {
					t.Error("all was measured again")
				}
				return ratesOf(c.again.ns), c.again.share, nil
			}
			rates, err := k.Rates()
			must(t, err)
			if ns := rates.ProbeNS[costmodel.SpotPoint]; ns != c.want {
				t.Errorf("%v ns are used, not %v", ns, c.want)
			}
			if saved, _ := k.read(); saved.Rates.ProbeNS[costmodel.SpotPoint] != c.wantSaved {
				t.Errorf("%v ns are saved, not %v", saved.Rates.ProbeNS[costmodel.SpotPoint], c.wantSaved)
			}
		})
	}
}

// TestMeasure measures on demand, whatever the file says.
func TestMeasure(t *testing.T) {
	c := newCalibration(t)
	must(t, c.save(&MeasuredRates{Key: c.key(), Share: 1, Rates: ratesOf(17)}))
	c.hooks.calibrate = func() (costmodel.Rates, float64, error) { return ratesOf(18), 0.8, nil }
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
	must(t, c.save(&MeasuredRates{Key: c.key(), Share: 1, Rates: ratesOf(17)}))
	old, err := os.Open(c.Path)
	must(t, err)
	defer old.Close()
	must(t, c.save(&MeasuredRates{Key: c.key(), Share: 1, Rates: ratesOf(18)}))
	var m MeasuredRates
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
