package encode

import (
	"slices"

	"gpujoin/joincore"
	"gpujoin/joincore/costmodel"
	"gpujoin/joincore/run"
)

// Expected times of one core for a value (BenchmarkColumns).
const (
	truthNS = 40.0 // a condition over a text
	codeNS  = 50.0 // the code of a text
	textNS  = 80.0 // a computed text
	perMS   = 1e6
	fixedMS = 0.1 // memory and goroutines
)

// PredictDevice returns the predicted time, in ms, of a plan on a device, with what the
// given number of cores compute before. check says which plans the device executes as
// they are.
func PredictDevice(check func(*joincore.Plan) error, plan *joincore.Plan, in []*joincore.Relation, r *costmodel.DeviceRates, cores int) float64 {
	if check(plan) == nil {
		return run.PredictDevice(plan, in, r)
	}
	w, err := rewrite(plan)
	if err != nil {
		return run.PredictDevice(plan, in, r)
	}
	in = slices.Clone(in)
	ns := 0.0
	for i, list := range w.added {
		if len(list) == 0 {
			continue
		}
		each := 0.0
		for _, a := range list {
			each += a.ns()
		}
		rows := in[i].Rows()
		ns += each * float64(rows)
		in[i] = &joincore.Relation{Columns: w.plan.Inputs[i].Columns, Segments: []joincore.Segment{{Rows: int(rows)}}}
	}
	return run.PredictDevice(w.plan, in, r) + fixedMS + ns/float64(max(cores, 1))/perMS
}

func (a added) ns() float64 {
	switch a.kind {
	case addedTruth:
		return truthNS
	case addedCode:
		return codeNS
	}
	return textNS
}
