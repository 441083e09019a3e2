package e2e

import (
	"context"
	"fmt"
	"io"

	"gpujoin/tests/measure"
)

// phasesResult has the phases of one join, as EXPLAIN shows them.
type phasesResult struct {
	Query     string
	Mode      string
	Join      string // its keys
	Algorithm string
	Ms        float64
	Phases    []phase
}

type phase struct {
	Name        string
	PredictedMs float64
	ActualMs    float64
}

// result returns the phases as a result of a document, whose number tells joins of one query
// apart.
func (r *phasesResult) result(number int) measure.Result {
	m := measure.Result{Name: fmt.Sprintf("phases %d, %s", number+1, r.Query), Engine: r.Mode, Values: map[string]float64{"join_ms": r.Ms},
		Texts: map[string]string{"join": measure.OneLine(r.Join), "algorithm": r.Algorithm}}
	for i, p := range r.Phases {
		name := fmt.Sprintf("%d %s", i+1, p.Name)
		m.Values[name+", actual_ms"] = p.ActualMs
		if p.PredictedMs > 0 {
			m.Values[name+", predicted_ms"] = p.PredictedMs
		}
	}
	return m
}

// phasesOf runs queries once more with EXPLAIN's timing on. That slows down the
// rows above the join, so nothing else is taken from this run.
func (w *world) phasesOf(ctx context.Context, queries []query) ([]*phasesResult, error) {
	var list []*phasesResult
	for _, q := range queries {
		for _, m := range w.modes {
			if m.provider == "" || m.absent != "" {
				continue
			}
			plan, err := m.session.Explain(ctx, "analyze", q.sql)
			if err != nil {
				return nil, fmt.Errorf("%s, %s: %w", q.name, m.name, err)
			}
			for _, g := range plan.Jobs() {
				for _, j := range g.Joins() {
					r := &phasesResult{Query: q.name, Mode: m.name, Join: j.Text("Join Keys"), Algorithm: j.Text("Algorithm"), Ms: j.Number("Time")}
					for _, p := range j.Phases() {
						r.Phases = append(r.Phases, phase{p.Text("Name"), p.Number("Predicted Time"), p.Number("Actual Time")})
					}
					list = append(list, r)
				}
			}
		}
	}
	return list, nil
}

// printPhases writes a table of all phases.
func printPhases(out io.Writer, list []*phasesResult) error {
	if len(list) == 0 {
		return nil
	}
	rows := []string{"query\tmode\talgorithm\tphase\tpredicted ms\tactual ms"}
	for _, r := range list {
		of := fmt.Sprintf("%s\t%s\t%s", r.Query, r.Mode, r.Algorithm)
		rows = append(rows, fmt.Sprintf("%s\t%s\t-\t%.2f", of, r.Join, r.Ms))
		for _, p := range r.Phases {
			predicted := "-"
			if p.PredictedMs > 0 {
				predicted = fmt.Sprintf("%.2f", p.PredictedMs)
			}
			rows = append(rows, fmt.Sprintf("\t\t\t%s\t%s\t%.2f", p.Name, predicted, p.ActualMs))
		}
	}
	fmt.Fprintln(out)
	return measure.Table(out, rows...)
}
