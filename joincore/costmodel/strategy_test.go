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
