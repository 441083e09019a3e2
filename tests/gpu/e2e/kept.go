package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"gpujoin/tests/harness"
	"gpujoin/tests/measure"
	"gpujoin/tests/suite"
)

// keptResult is what was measured of a query by cores, CUDA and, if asked for, several GPUs over
// kept columns.
type keptResult struct {
	Query      string
	Inputs     int // see query.inputs
	Rows       int // of the result
	CPU        *times
	CUDA       *times
	Several    *times
	Kept       []*suite.Kept // by each of the modes above
	Equal      bool
	Difference string
	Phases     map[string]float64 // ms on CUDA, of all joins
	Device     int64              // bytes of all kept columns, afterwards
}

// modes are the times in the order of the modes behind the native one.
func (r *keptResult) modes() []*times {
	list := []*times{r.CPU, r.CUDA}
	if r.Several != nil {
		list = append(list, r.Several)
	}
	return list
}

// results returns the query as results of a document.
func (r *keptResult) results() []measure.Result {
	var list []measure.Result
	for i, t := range r.modes() {
		m := t.result(query{name: r.Query, inputs: r.Inputs}, engines[i+1], r.Rows)
		m.Equal, m.Values["blocks_kept"], m.Values["blocks_fed"] = &r.Equal, float64(r.Kept[i].Blocks), float64(r.Kept[i].Fed)
		if engines[i+1] == measure.GPU {
			m.Values["device_bytes"] = float64(r.Device)
			for name, ms := range r.Phases {
				m.Values[name+"_ms"] = measure.Round(ms, 3)
			}
		}
		list = append(list, m)
	}
	return list
}

const (
	keptSuite  = "gpu-e2e-kept"
	mean       = "geometric mean" // a result
	coresByGPU = "cores/gpu"
)

// keptDocument returns all queries and the mean of their ratios as results of a document.
func keptDocument(results []*keptResult) (list []measure.Result) {
	for _, r := range results {
		list = append(list, r.results()...)
	}
	return append(list, measure.Result{Name: mean, Values: map[string]float64{coresByGPU: measure.Round(keptMean(results), 3)}})
}

// keptMean is the geometric mean of cores' times by the GPU's.
func keptMean(results []*keptResult) float64 {
	var g measure.GeometricMean
	for _, r := range results {
		g.Add(r.CPU.Ms, r.CUDA.Ms)
	}
	return g.Value()
}

// keptRuns is how often each query is measured in each mode.
const keptRuns = 5

// runKept compares cores with CUDA over kept columns. A difference between rows is an error, a
// slow query is not.
func runKept(ctx context.Context, o options) (err error) {
	o.rows, o.runs = int(1_000_000*o.sf), keptRuns
	begin := time.Now()
	w, err := newWorld(ctx, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.close()) }()
	if why := w.modes[2].absent; why != "" {
		return fmt.Errorf("CUDA: %s", why)
	}
	queries, err := w.keptQueries()
	if err != nil {
		return err
	}
	if err := w.fillKept(ctx); err != nil {
		return err
	}
	var results []*keptResult
	for _, q := range queries {
		r, err := w.measureKept(ctx, q)
		if err != nil {
			return errors.Join(fmt.Errorf("%s: %w", q.name, err), w.printKept(results))
		}
		results = append(results, r)
		say("%3.0f s  %s: cores %.1f ms, CUDA %.1f ms (join %.1f)%s; kept: %v; %s", time.Since(begin).Seconds(), q.name, r.CPU.Ms, r.CUDA.Ms,
			r.CUDA.JoinMs, r.several(), r.Kept, r.CUDA.Reason)
		if !r.Equal {
			say("OTHER ROWS: %s", r.Difference)
		}
		if err := w.run.Save(keptDocument(results)); err != nil {
			return err
		}
	}
	if err := w.run.Finish(keptDocument(results)); err != nil {
		return err
	}
	return w.printKept(results)
}

// several says how long several GPUs took.
func (r *keptResult) several() string {
	if r.Several == nil {
		return ""
	}
	return fmt.Sprintf(", several GPUs %.1f ms (join %.1f)", r.Several.Ms, r.Several.JoinMs)
}

// measureKept runs a query in each mode until its inputs are kept, and then in turn.
func (w *world) measureKept(ctx context.Context, q query) (*keptResult, error) {
	r := &keptResult{Query: q.name, Inputs: q.inputs, CPU: &times{Equal: true}, CUDA: &times{Equal: true}, Equal: true}
	var want *harness.Result
	compare := func(name string, got *harness.Result) {
		if want == nil {
			want, r.Rows = got, len(got.Rows)
		} else if d := harness.SameRows(want, got); d != "" && r.Equal {
			r.Equal, r.Difference = false, name+": "+d
		}
	}
	if w.sf <= 1 { // without indexes, native plans of much more take too long
		got, err := w.modes[0].session.Query(ctx, q.sql)
		if err != nil {
			return nil, fmt.Errorf("native: %w", err)
		}
		compare("native", got)
	}
	if w.several() {
		r.Several = &times{Equal: true}
	}
	modes, all := w.modes[1:], r.modes()
	for _, m := range modes {
		k, err := warmKept(ctx, m.session, q.sql)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", m.name, err)
		}
		r.Kept = append(r.Kept, k)
	}
	runs := make([][]float64, len(modes))
	for round := range keptRuns + 1 { // the first one brings columns to the device
		for i, m := range modes {
			begin := time.Now()
			got, err := m.session.Query(ctx, q.sql)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", m.name, err)
			}
			if round > 0 {
				runs[i] = append(runs[i], measure.Ms(time.Since(begin)))
			}
			compare(m.name, got)
		}
	}
	for i, m := range modes {
		all[i].Ms, all[i].Runs = measure.Round(measure.Median(runs[i]), 2), runs[i]
		if err := all[i].explain(ctx, m, q.sql); err != nil {
			return nil, fmt.Errorf("%s: %w", m.name, err)
		}
	}
	return r, w.explainKept(ctx, q, r)
}

// explainKept adds what CUDA did in one more run.
func (w *world) explainKept(ctx context.Context, q query, r *keptResult) error {
	s := w.modes[2].session
	plan, err := s.Explain(ctx, "analyze, timing off", q.sql)
	if err != nil {
		return err
	}
	if r.Device, err = deviceBytes(ctx, w.modes[2].witness, "gpujoin.kept"); err != nil {
		return err
	}
	r.Phases = phasesIn(plan)
	return nil
}

// phasesIn returns the times of the phases of all joins of an executed plan, by name, in ms.
func phasesIn(plan harness.Node) map[string]float64 {
	phases := map[string]float64{}
	for _, job := range plan.Jobs() {
		for _, j := range job.Joins() {
			for _, p := range j.Phases() {
				phases[p.Text("Name")] += p.Number("Actual Time")
			}
		}
	}
	return phases
}

// deviceBytes returns the bytes of a view's columns on GPUs. The daemon writes what the view shows
// once a second, so the first columns may be there later than the view has them: it is asked for
// two seconds before it counts as empty.
func deviceBytes(ctx context.Context, s *harness.Session, view string) (n int64, err error) {
	for deadline := time.Now().Add(2 * time.Second); ; {
		r, err := s.Query(ctx, "select coalesce(sum(device_bytes), 0) from "+view)
		if err != nil || len(r.Rows) != 1 {
			return 0, fmt.Errorf("device_bytes: %v, %w", r, err)
		}
		if n, err = strconv.ParseInt(r.Rows[0], 10, 64); err != nil || n > 0 || time.Now().After(deadline) {
			return n, err
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// warmKept runs a query until all blocks of its inputs are served, or another run stores no more:
// forced, which captures, and then as the planner chooses. It leaves the session in the planner's
// mode, or in the forced one if the planner does not offload the query.
func warmKept(ctx context.Context, s *harness.Session, sql string) (k *suite.Kept, err error) {
	automatic := suite.Automatic + "; reset parallel_setup_cost"
	forced := suite.Forced + "; set parallel_setup_cost = 0"
	if err := s.Exec(ctx, "set gpujoin.keep = always"); err != nil {
		return nil, err
	}
	jobs := 0
	for _, mode := range []string{forced, automatic} {
		if err := s.Exec(ctx, mode); err != nil {
			return nil, err
		}
		if k, jobs, err = untilKept(ctx, s, sql); err != nil {
			return nil, err
		}
	}
	if jobs == 0 {
		if err := s.Exec(ctx, forced); err != nil {
			return nil, err
		}
		if k, _, err = untilKept(ctx, s, sql); err != nil {
			return nil, err
		}
	}
	return k, s.Exec(ctx, "reset gpujoin.keep")
}

// untilKept runs a query up to five times. It also returns how many jobs the last plan has.
func untilKept(ctx context.Context, s *harness.Session, sql string) (k *suite.Kept, jobs int, err error) {
	last := -1
	for runs := 1; ; runs++ {
		plan, err := s.Explain(ctx, "analyze, timing off", sql)
		if err != nil {
			return nil, 0, err
		}
		k = suite.KeptBy(plan)
		k.Runs = runs
		if k.Fed == 0 || k.Fed == last || runs == 5 {
			return k, len(plan.Jobs()), nil
		}
		last = k.Fed
		time.Sleep(100 * time.Millisecond) // the daemon copies what was captured
	}
}

// printKept writes the table.
func (w *world) printKept(results []*keptResult) error {
	if len(results) == 0 {
		return nil
	}
	fmt.Printf("\n%s\n", w.describe())
	head := "query\trows\tcores ms\tjob\tcuda ms\tjob\tfeed\tcores/cuda\tbar ms\tkept\ton the GPU\tequal"
	if w.several() {
		head += fmt.Sprintf("\t%d GPUs ms\tjob\tcuda/%[1]d GPUs", w.devices)
	}
	rows := []string{head}
	different := 0
	for _, r := range results {
		bar := "-"
		if b := measure.BarOf(keptSuite, r.Query, "ms"); b.Exists() {
			bar = fmt.Sprintf("%v at %g", b, b.SF)
		}
		row := fmt.Sprintf("%s\t%d\t%.1f\t%.1f\t%.1f\t%.1f\t%.1f\t%.2f\t%s\t%v\t%d MB\t%v", r.Query, r.Rows, r.CPU.Ms, r.CPU.JoinMs,
			r.CUDA.Ms, r.CUDA.JoinMs, r.CUDA.FeedMs, r.CPU.Ms/r.CUDA.Ms, bar, r.Kept[1], r.Device>>20, r.Equal)
		if r.Several != nil {
			row += fmt.Sprintf("\t%.1f\t%.1f\t%.2f", r.Several.Ms, r.Several.JoinMs, r.CUDA.Ms/r.Several.Ms)
		}
		rows = append(rows, row)
		if !r.Equal {
			different++
		}
	}
	if err := measure.Table(os.Stdout, rows...); err != nil {
		return err
	}
	b := measure.BarOf(keptSuite, mean, coresByGPU)
	fmt.Printf("cores/cuda, geometric mean of %d queries: %.2f (bar: %v at the scale factor %g)\n", len(results), keptMean(results), b, b.SF)
	for _, r := range results {
		if r.CUDA.Reason != "" || r.CPU.Reason != "" {
			fmt.Printf("%s: %s %s\n", r.Query, r.CPU.Reason, r.CUDA.Reason)
		}
		if len(r.Phases) > 0 {
			fmt.Printf("%s, phases on CUDA: %v\n", r.Query, r.Phases)
		}
		if !r.Equal {
			fmt.Printf("%s: %s\n", r.Query, r.Difference)
		}
	}
	if different > 0 {
		return fmt.Errorf("%d queries return other rows", different)
	}
	return nil
}
