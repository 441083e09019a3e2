package foreign

import "testing"

// Plans say which tables were mirrored, at which position, and which were read directly.
func TestPlan(t *testing.T) {
	notice := `duration: 1 ms  plan:
{"Plan": {"Node Type": "Hash Join", "Plans": [
 {"Node Type": "Foreign Scan", "Mirror": "position 16/B374D848, waited 0.3 ms"},
 {"Node Type": "Foreign Scan", "Direct": "the table has no key"},
 {"Node Type": "Custom Scan", "Custom Plan Provider": "OffloadJoin", "Provider": "cpu", "Inputs": [
  {"Alias": "a", "Mirror": "position 16/B374D848, waited 0.0 ms"}, {"Alias": "b", "Mirror": "position 16/B374D849, waited 0.0 ms"}]}]}}`
	p := PlansOf([]string{"something else", notice})
	if p.Mirrored != 3 || p.Direct != 1 || p.Jobs != 1 || p.Positions != 2 || p.Position != 0x16B374D849 {
		t.Errorf("%+v", p)
	}
}
