package e2e

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"gpujoin/joincore/costmodel"
	"gpujoin/tests/harness"
	"gpujoin/tests/measure"
)

// result is what was measured of a query.
type result struct {
	Query             string
	Inputs            int // see query.inputs
	Rows              int // of the result
	Native, CPU, CUDA *times
	// Several is CUDA with more than one GPU for a job; nil: not measured.
	Several *times
}

// engines are the modes as engines of results, in their order.
var engines = []string{measure.Postgres, measure.Cores, measure.GPU, measure.GPUs}

// results returns the query as results of a document, one for each mode that ran.
func (r *result) results() (list []measure.Result) {
	for i, t := range r.modes() {
		if t.Ms > 0 {
			list = append(list, t.result(query{name: r.Query, inputs: r.Inputs}, engines[i], r.Rows))
		}
	}
	return list
}

// times are a query's times in one mode. The fields after Ms come from one more
// run, under EXPLAIN ANALYZE, and are sums over the plan's OffloadJoins; of the
// participants of each the slowest counts.
type times struct {
	Ms         float64 // median
	Runs       []float64
	Equal      bool
	Difference string
	Reason     string // why it did not run, or not on the intended provider

	ExplainMs float64
	FeedMs    float64 // filling extents
	JoinMs    float64 // in the provider
	ReturnMs  float64 // reading result batches
	Joins     int     // executed outside of the server
	Blocks    int     // query blocks of these
	Providers string
	Devices   int // the most of a job; 0: one
}

// result returns the times as a result of a document.
func (t *times) result(q query, engine string, rows int) measure.Result {
	r := measure.Result{Name: q.name, Engine: engine, Ms: t.Runs, Rows: rows, Equal: &t.Equal, Values: map[string]float64{}, Texts: map[string]string{}}
	if q.inputs > 0 {
		r.Values["input_rows"] = float64(q.inputs)
	}
	if t.Providers != "" {
		r.Values["explain_ms"], r.Values["feed_ms"], r.Values["join_ms"], r.Values["return_ms"] = t.ExplainMs, t.FeedMs, t.JoinMs, t.ReturnMs
		r.Values["joins"], r.Values["blocks"], r.Values["devices"] = float64(t.Joins), float64(t.Blocks), float64(max(t.Devices, 1))
	}
	for text, value := range map[string]string{"difference": t.Difference, "reason": t.Reason, "providers": t.Providers} {
		if value != "" {
			r.Texts[text] = measure.OneLine(value)
		}
	}
	return r
}

// measure runs a query in all modes in turn, after one round that warms the caches and
// returns the expected rows.
func (w *world) measure(ctx context.Context, q query) (*result, error) {
	r := &result{Query: q.name, Inputs: q.inputs}
	all := make([]*times, len(w.modes))
	runs := make([][]float64, len(w.modes))
	var want *harness.Result
	for round := range w.runs + 1 {
		for i, m := range w.modes {
			if all[i] == nil {
				all[i] = &times{Equal: true, Reason: m.absent}
			}
			if m.absent != "" {
				continue
			}
			begin := time.Now()
			got, err := m.session.Query(ctx, q.sql)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", m.name, err)
			}
			if round > 0 {
				runs[i] = append(runs[i], measure.Ms(time.Since(begin)))
			}
			if want == nil {
				want = got
				r.Rows = len(got.Rows)
			}
			if d := harness.SameRows(want, got); d != "" && all[i].Equal {
				all[i].Equal, all[i].Difference = false, d
			}
		}
	}
	for i, m := range w.modes {
		if m.absent != "" {
			continue
		}
		all[i].Ms, all[i].Runs = measure.Round(measure.Median(runs[i]), 2), runs[i]
		if m.provider == "" {
			continue
		}
		if err := all[i].explain(ctx, m, q.sql); err != nil {
			return nil, fmt.Errorf("%s: %w", m.name, err)
		}
	}
	r.Native, r.CPU, r.CUDA = all[0], all[1], all[2]
	if len(all) > 3 {
		r.Several = all[3]
	}
	return r, nil
}

// brief says how long the query took in each mode, and whose rows differ.
func (r *result) brief() string {
	var list []string
	for _, m := range []struct {
		name  string
		times *times
	}{{"native", r.Native}, {"cpu", r.CPU}, {"cuda", r.CUDA}, {"several GPUs", r.Several}} {
		if m.times != nil {
			list = append(list, fmt.Sprintf("%s %.0f ms", m.name, m.times.Ms))
			if !m.times.Equal {
				list = append(list, "other rows: "+m.times.Difference)
			}
		}
	}
	return strings.Join(list, ", ")
}

// explain runs the query once more under EXPLAIN ANALYZE and reads its plan.
func (t *times) explain(ctx context.Context, m *mode, sql string) error {
	_, err := t.explainPlan(ctx, m, sql)
	return err
}

// explainPlan is explain for who needs the plan, too.
func (t *times) explainPlan(ctx context.Context, m *mode, sql string) (harness.Node, error) {
	begin := time.Now()
	plan, err := m.session.Explain(ctx, "analyze, timing off", sql)
	if err != nil {
		return nil, err
	}
	t.ExplainMs = measure.Ms(time.Since(begin))
	var providers, reasons []string
	for _, g := range plan.Jobs() {
		if why := g.Text("Fallback"); why != "" {
			reasons = append(reasons, why)
			continue
		}
		provider := g.Text("Provider")
		if provider == "" { // never executed
			continue
		}
		if !slices.Contains(providers, provider) {
			providers = append(providers, provider)
		}
		if provider != m.provider {
			reasons = append(reasons, "ran on "+provider+": "+g.Text("Provider Fallback"))
		}
		if why := g.Text("One Device"); why != "" {
			reasons = append(reasons, "one device: "+why)
		}
		if why := g.Text("Strategy Reason"); why != "" && g.Text("Strategy") == costmodel.Alone.String() {
			reasons = append(reasons, "one device: "+why)
		}
		t.Devices = max(t.Devices, int(g.Number("Devices")))
	}
	phases := plan.JobPhases()
	t.FeedMs, t.JoinMs, t.ReturnMs = phases.Feed, phases.Join, phases.Return
	t.Joins, t.Blocks = plan.OffloadedJoins(), plan.OffloadedBlocks()
	t.Providers = strings.Join(providers, ", ")
	t.Reason = strings.Join(reasons, "; ")
	return plan, nil
}
