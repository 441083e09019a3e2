//go:build cuda

package selector

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"gpujoin/joincore"
	"gpujoin/joincore/costmodel"
	"gpujoin/joincore/cuda/driver"
	"gpujoin/testsupport/columnartest"
)

// Measuring a device is fast, works with any amount of memory, and gives plausible
// rates, which the test logs.
func TestMeasure(t *testing.T) {
	for _, bytes := range []int64{1 << 30, 1 << 34} {
		if devices, err := driver.Devices(); err != nil || len(devices) == 0 || devices[0].Memory < 2*bytes {
			t.Skipf("too little device memory: %v, %v", devices, err)
		}
		r := columnartest.New(t, bytes)
		var rates costmodel.DeviceRates
		for _, limit := range []time.Duration{10 * time.Second, 1500 * time.Millisecond} { // the first run loads kernels
			mark, start := r.Arena.Mark(), time.Now()
			var err error
			rates, err = Measure(context.Background(), r.Context, r.Stream, r.Arena)
			r.Must(err)
			if took := time.Since(start); took > limit {
				t.Errorf("it took %v", took)
			} else {
				t.Logf("%v in %d MB", took, bytes>>20)
			}
			if r.Arena.Mark() != mark {
				t.Error("memory is left taken")
			}
		}
		text, err := json.Marshal(rates)
		r.Must(errors.Join(err, rates.Check()))
		t.Logf("%s", text)
	}
}

func TestMeasureNeedsMemory(t *testing.T) {
	r := columnartest.New(t, 1<<24)
	if _, err := Measure(context.Background(), r.Context, r.Stream, r.Arena); !errors.Is(err, joincore.ErrBudget) {
		t.Error(err)
	}
}
