package costmodel

import (
	"math"
	"slices"
	"testing"
)

// Devices have as many units as others, unless they have too little space for that.
func TestInterleave(t *testing.T) {
	for name, c := range map[string]struct {
		units int
		free  []int
		want  []int
	}{
		"in turn":               {6, []int{9, 9, 9}, []int{0, 1, 2, 0, 1, 2}},
		"one more":              {4, []int{9, 9, 9}, []int{0, 1, 2, 0}},
		"little space on one":   {6, []int{9, 1, 9}, []int{0, 1, 2, 0, 2, 0}},
		"one device":            {3, []int{3}, []int{0, 0, 0}},
		"space on one only":     {2, []int{0, 5}, []int{1, 1}},
		"exactly":               {5, []int{2, 3}, []int{0, 1, 0, 1, 1}},
		"too little":            {6, []int{2, 3}, nil},
		"none, and less":        {1, []int{0, -3}, nil},
		"fewer units than GPUs": {1, []int{1, 1, 1, 1}, []int{0}},
	} {
		if got := Interleave(c.units, c.free); !slices.Equal(got, c.want) || (got == nil) != (c.want == nil) {
			t.Errorf("%s: %v, not %v", name, got, c.want)
		}
	}
	for devices := 1; devices <= 8; devices++ {
		place, sum := Interleave(64*devices, slices.Repeat([]int{100}, devices)), 0.0
		for d := range devices {
			share := Locality(place, d)
			if math.Abs(share-1/float64(devices)) > 1e-9 {
				t.Errorf("device %d of %d has %g of the units", d, devices, share)
			}
			sum += share
		}
		if math.Abs(sum-1) > 1e-9 {
			t.Errorf("%d devices have %g of the units", devices, sum)
		}
	}
	if Locality([]int{0, 1, 1, 1}, 1) != 0.75 || Locality(nil, 0) != 0 {
		t.Error("the share of a device is wrong")
	}
}

// Units lie on devices, evenly as far as these have space, and the rest on the host.
func TestGreedy(t *testing.T) {
	const h = OnHost
	for name, c := range map[string]struct {
		units int
		free  []int
		want  []int
	}{
		"all on devices":           {4, []int{9, 9}, []int{0, 1, 0, 1}},
		"exactly":                  {5, []int{2, 3}, []int{0, 1, 0, 1, 1}},
		"the rest on the host":     {7, []int{2, 3}, []int{0, 1, 0, 1, 1, h, h}},
		"one device":               {5, []int{3}, []int{0, 0, 0, h, h}},
		"space on one only":        {4, []int{0, 2}, []int{1, 1, h, h}},
		"space on none, and less":  {2, []int{0, -3}, []int{h, h}},
		"less than none, and more": {4, []int{-3, 2}, []int{1, 1, h, h}},
		"no units":                 {0, []int{1}, []int{}},
	} {
		if got := Greedy(c.units, c.free); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, not %v", name, got, c.want)
		}
	}
	if Locality(Greedy(100, []int{40, 50}), OnHost) != 0.1 {
		t.Error("the share of the host is wrong")
	}
}

// A table on one side only is read at its rate. A hundredth of slow reads halves the rate if they take a hundred times
// as long; the mean of the rates hardly falls.
func TestRatesOfHostedTables(t *testing.T) {
	for _, c := range []struct{ share, device, host, rate, mean float64 }{
		{1, 40, 0.4, 40, 40}, {0, 40, 0.4, 0.4, 0.4}, {0.99, 39.6, 0.4, 20, 39.208}, {0.5, 40, 40, 40, 40}, {0.75, 30, 10, 20, 25},
	} {
		if got, mean := HostedRate(c.share, c.device, c.host), MeanRate(c.share, c.device, c.host); math.Abs(got/c.rate-1) > 1e-2 || math.Abs(mean/c.mean-1) > 1e-9 {
			t.Errorf("%+v: %g, %g", c, got, mean)
		}
	}
}
