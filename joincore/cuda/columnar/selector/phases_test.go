package selector

import (
	"testing"

	"gpujoin/joincore/costmodel"
)

// Every phase of a report has a name short enough for statistics, and the phases that
// the model predicts are among them.
func TestPhasesHaveTheModelsNames(t *testing.T) {
	got := map[string]bool{}
	for _, name := range []string{
		"histogram", "summary", "range", "offsets", "filter", "reduction", "bypass", "first pass, build", "first pass, probe", "second pass, build",
		"second pass, probe", "match", "close", "gather", "read back",
	} {
		of := PhaseOf(name)
		if got[of] = true; len(of) > 31 {
			t.Errorf("%q is too long", of)
		}
	}
	if len(got) > 8 {
		t.Errorf("%d phases: %v", len(got), got)
	}
	j := Describe(costmodel.Resident{KeyBytes: 4, Rows: [2]int64{1 << 20, 1 << 20}, Payload: [2][]int{{4}, {4}}, MatchRatio: 1, Hot: 0.5}, 1<<20, 0)
	for _, p := range costmodel.DefaultDeviceRates.Predict(&j, costmodel.Materialisation{Build: costmodel.Fetch, Bypass: true}) {
		if !got[p.Name] {
			t.Errorf("%q is predicted and never reported", p.Name)
		}
	}
}
