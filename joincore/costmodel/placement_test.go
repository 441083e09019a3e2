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
