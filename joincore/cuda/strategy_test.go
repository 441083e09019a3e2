package cuda

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"gpujoin/joincore"
	"gpujoin/joincore/device"
)

// TestUnfitForMaterialised: a join that cannot take whole sides says why, whichever
// algorithm is asked for.
func TestUnfitForMaterialised(t *testing.T) {
	column := joincore.ColumnRef{}
	match := func(parts int, exact bool) device.Match {
		part := device.KeyPart{Column: column, Class: joincore.KeyInt, Bits: 64}
		return device.Match{Emit: device.Pairs, Build: &device.Key{Parts: slices.Repeat([]device.KeyPart{part}, parts), Exact: exact}}
	}
	outer, marked, conditional := match(1, true), match(1, true), match(1, true)
	outer.Emit, marked.Mark, conditional.Residual = device.Outer, true, &joincore.IsNull{Arg: column}
	for _, c := range []struct {
		reason string
		spec   device.JoinSpec
	}{
		{"", device.JoinSpec{Match: match(1, true)}},
		{"not an inner join", device.JoinSpec{Match: outer}},
		{"not an inner join", device.JoinSpec{Match: marked}},
		{"not an inner join", device.JoinSpec{Match: match(1, true), Leftover: true}},
		{"condition", device.JoinSpec{Match: conditional}},
		{"no keys", device.JoinSpec{Match: match(0, true)}},
		{"8 bytes", device.JoinSpec{Match: match(2, false)}},
	} {
		for _, c.spec.Algorithm = range joincore.Algorithms {
			reason := unfitForMaterialised(&c.spec)
			if (reason == "") != (c.reason == "") || !strings.Contains(reason, c.reason) {
				t.Errorf("%v: %q, not %q", c.spec.Algorithm, reason, c.reason)
			}
		}
	}
	own := device.JoinSpec{Match: match(1, true)}
	if unfitForMaterialised(&own) == "" {
		t.Error("the provider would choose whole sides for a probe side that comes in parts")
	}
	own.ProbeInput = true
	if reason := unfitForMaterialised(&own); reason != "" {
		t.Errorf("an input as the probe side is unfit: %s", reason)
	}
}

func TestReasonOfErrors(t *testing.T) {
	memory, other := whyNotMaterialised(fmt.Errorf("no space: %w", joincore.ErrBudget)), whyNotMaterialised(errors.New("17 columns"))
	if !strings.Contains(memory, "memory") || !strings.Contains(other, "columns") {
		t.Errorf("%q, %q", memory, other)
	}
}
