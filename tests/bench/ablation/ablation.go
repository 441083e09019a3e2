// Package ablation measures what each correction of the cost model gains: it leaves out
// one of them at a time, plans every query of TPC-H and TPC-DS with and without it, and
// runs those whose plan changes.
package ablation

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"gpujoin/tests/harness"
	"gpujoin/tests/measure"
	"gpujoin/tests/suite"
)

// Query is a query that is planned with and without each correction.
type Query struct{ Name, SQL string }

// Change is a query that a correction gives another plan.
type Change struct {
	Query             string
	WithMs, WithoutMs float64
}

// Result says what one correction gains.
type Result struct {
	Correction string
	Planned    int
	Changes    []Change
}

// results returns the correction as results of a document: how many plans of a suite change
// without it, and for each of these queries the times.
func (r *Result) results(suite string) []measure.Result {
	without := "without " + r.Correction
	list := []measure.Result{{Name: suite, Engine: without, Values: map[string]float64{"plans": float64(r.Planned), "change": float64(len(r.Changes))}}}
	for _, c := range r.Changes {
		list = append(list, measure.Result{Name: c.Query, Engine: without, Values: map[string]float64{"with_ms": c.WithMs, "without_ms": c.WithoutMs}})
	}
	return list
}

// Options say how queries are measured.
type Options struct {
	Corrections []string      // none: all
	Runs        int           // of each plan; the median counts. 0: plans are only compared
	Timeout     time.Duration // of one run, which then counts as so long
}

// noise is the ratio of two times from which on one plan counts as the better one.
const noise = 1.05

// executed corrections change how plans are executed, but not the plans.
var executed = []string{"prefetch"}

// Corrections returns the values of gpujoin.debug_without.
func Corrections(ctx context.Context, s *harness.Session) ([]string, error) {
	r, err := s.Query(ctx, "select unnest(enumvals) from pg_settings where name = 'gpujoin.debug_without'")
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(r.Rows, func(name string) bool { return name == "none" }), nil
}

// Measure leaves out each correction in turn.
func Measure(ctx context.Context, s *harness.Session, queries []Query, o Options) ([]Result, error) {
	// The library defines its settings when it is loaded.
	if err := s.Exec(ctx, fmt.Sprintf("load 'gpujoin'; set statement_timeout = %d", o.Timeout.Milliseconds())); err != nil {
		return nil, err
	}
	names := o.Corrections
	if len(names) == 0 {
		var err error
		if names, err = Corrections(ctx, s); err != nil {
			return nil, err
		}
	}
	var results []Result
	for _, name := range names {
		r := Result{Correction: name, Planned: len(queries)}
		for _, q := range queries {
			differs, err := planDiffers(ctx, s, name, q.SQL)
			if err != nil {
				return nil, fmt.Errorf("%s without %s: %w", q.Name, name, err)
			}
			if !differs {
				continue
			}
			change, err := compare(ctx, s, name, q, o)
			if err != nil {
				return nil, fmt.Errorf("%s without %s: %w", q.Name, name, err)
			}
			r.Changes = append(r.Changes, change)
			suite.Progress(fmt.Sprintf("%s: %s with %.0f ms, without %.0f ms", name, q.Name, change.WithMs, change.WithoutMs))
		}
		suite.Progress(fmt.Sprintf("%s: %d plans change", name, len(r.Changes)))
		results = append(results, r)
	}
	return results, s.Exec(ctx, "reset all")
}

// planDiffers plans the query three times: another load of the daemon may change a plan,
// too.
func planDiffers(ctx context.Context, s *harness.Session, correction, sql string) (bool, error) {
	var plans []string
	for _, name := range []string{"none", correction, "none"} {
		plan, err := planOf(ctx, s, name, sql)
		if err != nil {
			return false, err
		}
		plans = append(plans, plan)
	}
	if slices.Contains(executed, correction) {
		return strings.Contains(plans[1], "Offload"), nil
	}
	return plans[1] != plans[0] && plans[1] != plans[2], nil
}

func leaveOut(ctx context.Context, s *harness.Session, correction string) error {
	return s.Exec(ctx, "set gpujoin.debug_without = "+correction)
}

func planOf(ctx context.Context, s *harness.Session, correction, sql string) (string, error) {
	if err := leaveOut(ctx, s, correction); err != nil {
		return "", err
	}
	r, err := s.Query(ctx, "explain (costs off, settings off) "+sql)
	if err != nil {
		return "", err
	}
	return strings.Join(r.Rows, "\n"), nil
}

// compare times both plans of a query in turn, so that noise meets both.
func compare(ctx context.Context, s *harness.Session, correction string, q Query, o Options) (Change, error) {
	if o.Runs == 0 {
		return Change{Query: q.Name}, nil
	}
	modes := []string{"none", correction}
	times := map[string][]float64{}
	for run := range o.Runs + 1 {
		for _, mode := range modes {
			if len(times[mode]) > 0 && times[mode][0] >= float64(o.Timeout.Milliseconds()) {
				continue
			}
			ms, err := timeOf(ctx, s, mode, q.SQL, o.Timeout)
			if err != nil {
				return Change{}, err
			}
			// The first run warms caches.
			if run > 0 || ms >= float64(o.Timeout.Milliseconds()) {
				times[mode] = append(times[mode], ms)
			}
		}
	}
	return Change{
		Query:     q.Name,
		WithMs:    measure.Median(times["none"]),
		WithoutMs: measure.Median(times[correction]),
	}, nil
}

func timeOf(ctx context.Context, s *harness.Session, correction, sql string, timeout time.Duration) (float64, error) {
	if err := leaveOut(ctx, s, correction); err != nil {
		return 0, err
	}
	begin := time.Now()
	_, err := s.Query(ctx, sql)
	if harness.SQLState(err) == "57014" {
		return float64(timeout.Milliseconds()), nil
	}
	return measure.Ms(time.Since(begin)), err
}

// ratio is the time of the plan without the correction to that of the one with it.
func (c Change) ratio() float64 {
	if c.WithMs == 0 {
		return 1
	}
	return c.WithoutMs / c.WithMs
}

// Table returns the results, one correction a row.
func Table(results []Result) []string {
	rows := []string{"without\tplans\tchange\tslower\tfaster\tmean"}
	for _, r := range results {
		slower, faster, sum := 0, 0, 0.0
		for _, c := range r.Changes {
			sum += math.Log(c.ratio())
			switch {
			case c.ratio() >= noise:
				slower++
			case c.ratio() <= 1/noise:
				faster++
			}
		}
		mean := "-"
		if n := len(r.Changes); n > 0 {
			mean = fmt.Sprintf("%.2f", math.Exp(sum/float64(n)))
		}
		rows = append(rows, fmt.Sprintf("%s\t%d\t%d\t%d\t%d\t%s", r.Correction, r.Planned, len(r.Changes),
			slower, faster, mean))
	}
	return rows
}
