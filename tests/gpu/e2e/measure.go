package e2e

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"gpujoin/tests/harness"
	"gpujoin/tests/measure"
)

// result is a query's entry in build/gpu-e2e.json.
type result struct {
	Query  string `json:"query"`
	Rows   int    `json:"rows"` // of the result
	Native *times `json:"native"`
	CPU    *times `json:"cpu"`
	CUDA   *times `json:"cuda"`
	// Several is CUDA with more than one GPU for a job; nil: not measured.
	Several *times `json:"several,omitempty"`
}

// times are a query's times in one mode. The fields after Ms come from one more
// run, under EXPLAIN ANALYZE, and are sums over the plan's OffloadJoins; of the
// participants of each the slowest counts.
type times struct {
	Ms         float64 `json:"ms"` // median
	Equal      bool    `json:"equal"`
	Difference string  `json:"difference,omitempty"`
	Reason     string  `json:"reason,omitempty"` // why it did not run, or not on the intended provider

	ExplainMs float64 `json:"explain_ms,omitempty"`
	FeedMs    float64 `json:"feed_ms,omitempty"`   // filling extents
	JoinMs    float64 `json:"join_ms,omitempty"`   // in the provider
	ReturnMs  float64 `json:"return_ms,omitempty"` // reading result batches
	Joins     int     `json:"joins,omitempty"`     // executed outside of the server
	Providers string  `json:"providers,omitempty"`
	Devices   int     `json:"devices,omitempty"` // the most of a job; 0: one
}

// measure runs a query in all modes in turn, after one round that warms the caches and
// returns the expected rows.
func (w *world) measure(ctx context.Context, q query) (*result, error) {
	r := &result{Query: q.name}
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
		all[i].Ms = measure.Round(measure.Median(runs[i]), 2)
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
		t.Devices = max(t.Devices, int(g.Number("Devices")))
		t.JoinMs += g.Number("Join Time")
		t.FeedMs += slowest(g, "Feed Time", "Feed Wait Time")
		t.ReturnMs += slowest(g, "Return Time", "")
	}
	t.Joins = plan.OffloadedJoins()
	t.Providers = strings.Join(providers, ", ")
	t.Reason = strings.Join(reasons, "; ")
	return plan, nil
}

// slowest returns the largest value of a property among the participants, minus
// a waiting time.
func slowest(g harness.Node, property, without string) float64 {
	most := 0.0
	for _, p := range g.Participants() {
		most = max(most, p.Number(property)-p.Number(without))
	}
	return most
}
