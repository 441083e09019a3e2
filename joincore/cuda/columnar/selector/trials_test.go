package selector

import (
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"gpujoin/joincore"
	"gpujoin/joincore/costmodel"
)

// apart are the rates that no trial determines: those of the link, and the cache
// size, which the driver reports.
var apart = []string{"CacheMB", "LinkInGB", "LinkOutGB"}

// If a device behaves exactly like the model, the rates from the trials predict other
// joins by every algorithm.
func TestTrialsTellEnough(t *testing.T) {
	others := []costmodel.Resident{
		{KeyBytes: 4, Rows: [2]int64{1 << 27, 1 << 28}, Payload: [2][]int{{4, 4}, {4, 4}}, MatchRatio: 1},
		{KeyBytes: 8, Rows: [2]int64{1 << 24, 1 << 26}, Payload: [2][]int{{8, 8, 8}, {4}}, MatchRatio: 0.1},
		{KeyBytes: 4, Rows: [2]int64{1 << 18, 1 << 27}, Payload: [2][]int{{4, 1, 16}, {2, 8}}, MatchRatio: 0.7, Hot: 0.2},
		{KeyBytes: 4, Rows: [2]int64{1 << 24, 1 << 24}, Payload: [2][]int{{4}, {4}}, MatchRatio: 1, ResultRows: 1 << 27},
	}
	for seed := range uint64(20) {
		random := rand.New(rand.NewPCG(seed, 1))
		device := costmodel.DefaultDeviceRates
		of := reflect.ValueOf(&device).Elem()
		for i := range of.NumField() {
			if !slices.Contains(apart, of.Type().Field(i).Name) {
				of.Field(i).SetFloat(of.Field(i).Float() * (0.5 + random.Float64()))
			}
		}
		found := costmodel.DefaultDeviceRates
		found.Fit(observe(&device, mostTrialRows))
		for _, j := range others {
			j = Describe(j, j.Rows[1], 0)
			for _, a := range joincore.Algorithms {
				got, want := found.Named(&j, a).MS, device.Named(&j, a).MS
				if math.Abs(got-want) > 0.1*want {
					t.Errorf("seed %d: %s of %v rows: %.2f ms are predicted, %.2f are right", seed, a, j.Rows, got, want)
				}
			}
		}
	}
}

// There is memory for the payload of each trial.
func TestTrialsFit(t *testing.T) {
	const n = leastTrialRows
	for _, of := range trials(n) {
		for side, rows := range []int64{of.build, of.probe} {
			bytes := int64(0)
			for _, w := range of.widths[side] {
				bytes += int64(w) * rows
			}
			if most := []int64{n, 2 * n}[side] * mostTrialPayload; bytes > most || len(of.widths[side]) > mostTrialColumns {
				t.Errorf("%s, side %d: %d rows of %v bytes are more than %d bytes", of.how, side, rows, of.widths[side], most)
			}
		}
	}
}

// Every rate but those in apart is determined by a trial.
func TestEveryRateIsTold(t *testing.T) {
	r := costmodel.DefaultDeviceRates
	told := map[*float64]bool{}
	for _, trial := range trials(mostTrialRows) {
		for _, of := range trial.tells {
			told[of.rate(&r)] = true
		}
	}
	of := reflect.ValueOf(&r).Elem()
	for i := range of.NumField() {
		name := of.Type().Field(i).Name
		if told[of.Field(i).Addr().Interface().(*float64)] == slices.Contains(apart, name) {
			t.Errorf("%s: told is %v", name, !slices.Contains(apart, name))
		}
	}
}

// Trials with fewer rows, for small memories, give equally good rates, as far as they
// determine any.
func TestSmallTrialsTellNothingWrong(t *testing.T) {
	device := costmodel.DefaultDeviceRates
	device.PassGB, device.FetchGps = 1000, 12
	for n := int64(leastTrialRows); n <= mostTrialRows; n *= 2 {
		found := costmodel.DefaultDeviceRates
		found.Fit(observe(&device, n))
		if math.Abs(found.PassGB-device.PassGB) > 0.1*device.PassGB {
			t.Errorf("%d rows: passes at %g GB/s", n, found.PassGB)
		}
		if err := found.Check(); err != nil {
			t.Errorf("%d rows: %v", n, err)
		}
	}
}

// observe returns the trials' observations of a device that behaves like the model.
func observe(device *costmodel.DeviceRates, n int64) (list []costmodel.Observation) {
	for _, trial := range trials(n) {
		j := Describe(trial.described(), trial.results(), 0)
		p := trial.predict(device, &j)
		least := map[string]float64{wholeJoin: p.MS()}
		for _, phase := range p {
			least[phase.Name] = phase.MS
		}
		list = append(list, trial.observations(least)...)
	}
	return list
}
