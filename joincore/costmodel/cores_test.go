package costmodel

import (
	"math"
	"testing"

	"gpujoin/joincore"
)

// Phases together are what the rates say of a join, whichever algorithm they
// are shared out for; more cores take less.
func TestCorePredictionsAddUp(t *testing.T) {
	r := &Rates{ColumnNS: 0.5}
	for i := range Points {
		r.BuildNS[i], r.ProbeNS[i] = 20, 10
	}
	j := CoreJoin{BuildRows: 1e6, ProbeRows: 4e6, Result: 4e6, Columns: 2}
	for _, a := range []joincore.Algorithm{0, joincore.NPJ, joincore.PHJUM, joincore.PHJOM} {
		j.Algorithm = a
		if got, want := r.Predict(j, 4).MS(), (1e6*20+4e6*10)/4e6; math.Abs(got-want) > 1e-9 {
			t.Errorf("%v: %v ms in place of %v", a, got, want)
		}
		if one, four := r.Predict(j, 1).MS(), r.Predict(j, 4).MS(); math.Abs(one-4*four) > 1e-9 {
			t.Errorf("%v: %v ms on one core, %v on four", a, one, four)
		}
	}
	j.Algorithm = joincore.SMJOM
	if p := r.Predict(j, 4); p != nil {
		t.Errorf("an algorithm that was not measured: %v", p)
	}
}
