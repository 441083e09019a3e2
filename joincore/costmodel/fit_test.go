package costmodel

import (
	"math"
	"testing"

	"gpujoin/joincore"
)

// A device's rates are found again from what its phases take.
func TestFitFindsRates(t *testing.T) {
	device := DefaultDeviceRates
	device.ReadGB, device.PassGB, device.MatchGB, device.FetchGps, device.EnterNS = 1800, 1500, 2100, 17, 0.3
	j := residentJoin(4, 4, 4, 1<<25, 1<<26, 1, 0)
	j.TableBytes, j.SortPasses = 1<<29, 3
	of := func(rate func(*DeviceRates) *float64, a joincore.Algorithm, phase string) Observation {
		predict := func(r *DeviceRates) float64 { return r.Named(&j, a).Prediction.Of(phase) }
		return Observation{Name: phase, Rate: rate, Predict: predict, MS: predict(&device)}
	}
	fitted := DefaultDeviceRates
	fitted.Fit([]Observation{
		of(func(r *DeviceRates) *float64 { return &r.ReadGB }, joincore.PHJOM, PhaseHistogram),
		of(func(r *DeviceRates) *float64 { return &r.PassGB }, joincore.PHJOM, PhaseProbeSide),
		of(func(r *DeviceRates) *float64 { return &r.MatchGB }, joincore.PHJOM, PhaseMatch),
		of(func(r *DeviceRates) *float64 { return &r.FetchGps }, joincore.PHJUM, PhaseMatch),
		of(func(r *DeviceRates) *float64 { return &r.EnterNS }, joincore.NPJ, PhaseBuild),
	})
	for _, c := range [][2]float64{{fitted.ReadGB, device.ReadGB}, {fitted.PassGB, device.PassGB}, {fitted.MatchGB, device.MatchGB}, {fitted.FetchGps, device.FetchGps}, {fitted.EnterNS, device.EnterNS}} {
		if math.Abs(c[0]-c[1]) > 0.01*c[1] {
			t.Errorf("%g is found, %g is right", c[0], c[1])
		}
	}
}

// What a phase does not depend on, and times that nothing explains, move
// nothing.
func TestFitKeepsWhatItCannotKnow(t *testing.T) {
	small := residentJoin(4, 2, 4, 1<<12, 1<<13, 1, 0) // fetches stay within the cache
	fitted := DefaultDeviceRates
	fitted.Fit([]Observation{{
		Rate:    func(r *DeviceRates) *float64 { return &r.FetchGps },
		Predict: func(r *DeviceRates) float64 { return r.Named(&small, joincore.PHJUM).Prediction.Of(PhaseMatch) },
		MS:      0.03,
	}, {
		Rate:    func(r *DeviceRates) *float64 { return &r.ReadGB },
		Predict: func(r *DeviceRates) float64 { return 1 / r.ReadGB },
		MS:      1e9,
	}})
	if fitted != DefaultDeviceRates {
		t.Errorf("%+v", fitted)
	}
}
