package joincore

import (
	"slices"
	"testing"
)

func TestAddPhase(t *testing.T) {
	var s JoinStats
	for _, p := range []Phase{{"build", 1, 2}, {"match", 0, 3}, {"build", 10, 20}, {"match", 0, 30}} {
		s.AddPhase(p)
	}
	if want := []Phase{{"build", 11, 22}, {"match", 0, 33}}; !slices.Equal(s.Phases, want) {
		t.Errorf("%v", s.Phases)
	}
}

func TestFoldPhases(t *testing.T) {
	all := []Phase{{"histogram", 4, 5}, {"offsets", 1, 1}, {"partition", 30, 20}, {"match", 9, 40}, {"close", 2, 1}}
	for n, want := range map[int][]Phase{
		1: {{"other", 46, 67}},
		3: {{"partition", 30, 20}, {"match", 9, 40}, {"other", 7, 7}},
		4: {{"histogram", 4, 5}, {"partition", 30, 20}, {"match", 9, 40}, {"other", 3, 2}},
		5: all,
		8: all,
	} {
		if got := FoldPhases(all, n); !slices.Equal(got, want) {
			t.Errorf("%d phases: %v", n, got)
		}
	}
	// A sum does not show which of its phases had no prediction.
	if got := FoldPhases([]Phase{{"a", 0, 1}, {"b", 5, 2}, {"c", 9, 9}}, 2); !slices.Equal(got, []Phase{{"c", 9, 9}, {"other", 0, 3}}) {
		t.Errorf("%v", got)
	}
	if got := FoldPhases(nil, 8); len(got) != 0 {
		t.Errorf("%v", got)
	}
}
