package costmodel

import "testing"

// Rates to assume are not better than typical ones in any respect.
func TestCautiousRates(t *testing.T) {
	typical, cautious := TypicalRates, CautiousRates()
	low, high := typical.times(), cautious.times()
	for i := range low {
		if *high[i] != Implausible**low[i] || *low[i] <= 0 {
			t.Errorf("time %d: %v and %v", i, *low[i], *high[i])
		}
	}
	if !cautious.plausible() || len(low) != 2*Points+GroupPoints+4 {
		t.Errorf("%d times of %+v", len(low), cautious)
	}
}
