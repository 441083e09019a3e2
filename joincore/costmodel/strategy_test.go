package costmodel

import "testing"

// Each name is that of one strategy.
func TestStrategyNames(t *testing.T) {
	for i, name := range Strategies() {
		if s, err := ParseStrategy(name); err != nil || int(s) != i || s.String() != name {
			t.Errorf("%s is strategy %d, %v", name, s, err)
		}
	}
	if s, err := ParseStrategy("replicated"); err == nil {
		t.Errorf("a name of no strategy is %v", s)
	}
}

// Devices meet where rows of one are joined with those of others; that takes two, unless the host has a part of the table.
func TestWhatStrategiesNeed(t *testing.T) {
	for s, want := range map[Strategy]struct {
		fewest          int
		meets, oneTable bool
	}{
		Alone: {1, false, false}, Replicate: {2, false, false}, Divide: {2, false, false},
		Exchange: {2, true, false}, Spread: {2, true, true}, Hybrid: {1, true, true},
	} {
		if s.Fewest() != want.fewest || s.Meets() != want.meets || s.OneTable() != want.oneTable {
			t.Errorf("%v: %d devices, %v, %v", s, s.Fewest(), s.Meets(), s.OneTable())
		}
	}
	if n := len(Executed()); n != len(Strategies())-1 {
		t.Errorf("jobs are executed by %d strategies of %v", n, Strategies())
	}
}
