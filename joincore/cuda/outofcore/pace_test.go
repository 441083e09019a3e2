package outofcore

import (
	"testing"
	"time"
)

func TestDevicesEndSooner(t *testing.T) {
	const ms = time.Millisecond
	for _, c := range []struct {
		left, claimed int
		since, took   time.Duration
		want          bool
	}{
		{10, 0, 0, 0, false},              // nothing is known yet
		{1, 0, ms, 20 * ms, false},        // of the devices
		{1, 10, 50 * ms, 0, false},        // of the cores
		{10, 10, 50 * ms, 20 * ms, false}, // 50 ms are left for devices
		{4, 10, 50 * ms, 20 * ms, false},  // as long as cores take
		{3, 10, 50 * ms, 20 * ms, true},
	} {
		if got := devicesEndSooner(c.left, c.claimed, c.since, c.took); got != c.want {
			t.Errorf("%+v: %t", c, got)
		}
	}
}
