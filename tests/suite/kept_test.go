package suite

import (
	"testing"

	"gpujoin/tests/harness"
)

// node is an executed plan with a job of these inputs.
func node(inputs ...any) harness.Node {
	return harness.Node{"Custom Plan Provider": "OffloadJoin", "Provider": "cpu", "Inputs": inputs}
}

func TestKeptBy(t *testing.T) {
	served := map[string]any{"Alias": "l", "Blocks Kept": 90.0, "Blocks Proved": 10.0, "Blocks Fed": 0.0}
	partly := map[string]any{"Alias": "o", "Blocks Kept": 5.0, "Blocks Proved": 0.0, "Blocks Fed": 3.0}
	never := map[string]any{"Alias": "n"}
	for _, c := range []struct {
		plan        harness.Node
		text        string
		blocks, fed int
	}{
		{node(served), "all", 100, 0},
		{node(served, partly), "105 blocks; o: 3 blocks", 105, 3},
		{node(served, never), "100 blocks; n: fed whole", 100, 0},
		{harness.Node{"Node Type": "Seq Scan"}, "no input", 0, 0},
	} {
		if k := KeptBy(c.plan); k.String() != c.text || k.Blocks != c.blocks || k.Fed != c.fed {
			t.Errorf("%v: %+v, %q", c.plan, k, k)
		}
	}
}
