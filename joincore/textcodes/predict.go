package textcodes

import (
	"math"
	"slices"

	"gpujoin/joincore"
	"gpujoin/joincore/costmodel"
	"gpujoin/joincore/exec"
)

// Expected times of one core for a value (BenchmarkColumns): a condition over a text, the
// code of a text of few or of many different ones, and a computed text.
//
// More cores do not make codes of many different texts faster by much: each text is stored in
// memory that nobody has touched yet. On 32 cores, four columns of 0.75 M and of 1.5 M customers
// (query 10 of TPC-H) took 120 and 160 ns a value.
const (
	truthNS   = 30.0
	codeNS    = 20.0
	farCodeNS = 200.0
	leastFar  = 150.0 // on any number of cores
	textNS    = 30.0
	compareNS = 30.0 // of two texts that are sorted
	perMS     = 1e6
	fixedMS   = 0.1 // memory and goroutines
)

// PredictDevice returns the predicted time, in ms, of a plan on a device, with what the
// given number of cores compute before. check says which plans the device executes as
// they are, and resident which contents it has (nil: none). With a memo, what it keeps counts as
// computed before.
func PredictDevice(check func(*joincore.Checked) error, plan *joincore.Checked, in []*joincore.Relation, r *costmodel.DeviceRates, cores int,
	resident func(content uint64) bool, memo bool) float64 {
	w, _ := adapted(check, plan)
	if w == nil {
		return exec.PredictDevice(plan, in, r, resident)
	}
	groups := 0.0 // the planner's estimate is also one of the different texts
	for _, a := range joincore.Aggregates(plan.Root) {
		groups = max(groups, a.Rows)
	}
	in = slices.Clone(in)
	ns, own := 0.0, w.own()
	for i, list := range w.added {
		if len(list) == 0 {
			continue
		}
		rows := float64(in[i].Rows())
		different := min(groups, rows)
		for _, a := range list {
			if sources := own.sources(a); memo && sources != nil && mostNamed(in[i], sources) && (a.kind == addedTruth || different <= mostKept) {
				continue
			}
			ns += a.ns(different, float64(max(cores, 1))) * rows
		}
		in[i] = &joincore.Relation{Columns: w.plan.Inputs[i].Columns, Segments: in[i].Segments}
	}
	most := 0.0
	for _, r := range in {
		most = max(most, float64(r.Rows()))
	}
	different := min(groups, most)
	for range w.listed {
		in = append(in, &joincore.Relation{Columns: listedColumns, Segments: []joincore.Segment{{Rows: int(different)}}})
	}
	ms := 0.0
	for _, of := range w.all {
		if of.mergedInto == nil && of.ordered {
			ms += orderMS(different)
		}
	}
	return exec.PredictDevice(w.plan, in, r, resident) + fixedMS + ms + ns/perMS
}

// PredictCores returns the predicted time, in ms, of a plan on cores, with that of conditions
// over texts right above their inputs: cores evaluate these for the same rows, whether a
// device does the rest or not. Others are evaluated for fewer rows, and count on devices
// only.
func PredictCores(plan *joincore.Checked, in []*joincore.Relation, r *costmodel.Rates, cores int) float64 {
	ms := exec.PredictCores(plan, in, r, cores)
	w := newRewriter(plan, 0)
	for n := range joincore.Nodes(plan.Root) {
		if f, ok := n.(*joincore.Filter); ok {
			if _, ok := f.Child.(*joincore.Scan); ok {
				w.expr(f.Predicate, inputs{})
			}
		}
	}
	for i, list := range w.added {
		ms += truthNS * float64(len(list)) * float64(in[i].Rows()) / float64(max(cores, 1)) / perMS
	}
	return ms
}

// ns returns the time of a value of a column with some different ones on some cores; none is
// expected of more of them than a dictionary holds.
func (a added) ns(different, cores float64) float64 {
	switch {
	case a.kind == addedTruth:
		return truthNS / cores
	case a.kind == addedText:
		return textNS / cores
	case different > mostValues:
		return math.Inf(1)
	case different > knownValues:
		return max(farCodeNS/cores, leastFar)
	}
	return codeNS / cores
}

// orderMS returns the time to sort some texts; none is expected to sort more than may be.
func orderMS(different float64) float64 {
	if different > mostOrdered {
		return math.Inf(1)
	}
	return different * math.Log2(different+1) * compareNS / perMS
}
