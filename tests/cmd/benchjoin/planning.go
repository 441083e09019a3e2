package main

import (
	"context"
	"fmt"
	"strings"

	"gpujoin/tests/harness"
	"gpujoin/tests/measure"
)

// planResult is an entry in build/bench-join.json: us is the additional
// planning time with the extension loaded.
type planResult struct {
	Workload  string  `json:"workload"`
	Us        float64 `json:"us"`
	WithUs    float64 `json:"with_us"`
	WithoutUs float64 `json:"without_us"`
	Ratio     float64 `json:"ratio"`
	Offloaded bool    `json:"offloaded"`
}

// planRuns is the number of times that a query is planned each way; planning takes
// fractions of a millisecond.
const planRuns = 300

// planning compares a session with the library to one without.
func (b *bench) planning() error {
	say("planning")
	// Joins before this are forced, planning is not.
	if err := b.session.Exec(b.ctx, "reset all; "+planTables()); err != nil {
		return err
	}
	without, err := b.cluster.ConnectWith(b.ctx, "session_preload_libraries", "")
	if err != nil {
		return err
	}
	defer without.Close()
	var from, where []string
	for i := range 10 {
		from = append(from, fmt.Sprintf("p%d", i))
		if i > 0 {
			where = append(where, fmt.Sprintf("p%d.b = p%d.a", i-1, i))
		}
	}
	tenWay := "select sum(p0.v), sum(p9.v) from " + strings.Join(from, ", ") + " where " + strings.Join(where, " and ")
	rows := []string{"planning\twithout us\twith us\tadded us\tratio\toffloaded"}
	for _, q := range []workload{
		{"plan-rejected", "select sum(x.v), sum(y.v) from s0 x join s1 y on x.a = y.a"},
		{"plan-rejected-type", "select sum(x.v), sum(y.v) from p0 x join p1 y on x.f = y.f"},
		{"plan-rejected-cost", "select x.v, y.v from fact x join d1k y on x.k1k = y.k limit 10"},
		{"plan-10way", tenWay},
	} {
		r, err := comparePlanning(b.ctx, b.session, without, q)
		if err != nil {
			return fmt.Errorf("%s: %w", q.name, err)
		}
		b.results = append(b.results, r)
		say("  %s: %.0f us without the extension, %.0f with it", r.Workload, r.WithoutUs, r.WithUs)
		rows = append(rows, fmt.Sprintf("%s\t%.0f\t%.0f\t%.0f\t%.3f\t%v", r.Workload, r.WithoutUs, r.WithUs, r.Us, r.Ratio, r.Offloaded))
	}
	return b.addTables(rows)
}

// planTables returns ten tables that pass the size gate together, and two that do not.
func planTables() string {
	var sql strings.Builder
	for i := range 10 {
		fmt.Fprintf(&sql, "create table p%d as select i as a, (i * 7) %% 50000 as b, i %% 100 as v, array[i] as f from generate_series(1::int8, 50000) i;\n", i)
	}
	for i := range 2 {
		fmt.Fprintf(&sql, "create table s%d as select i as a, i %% 100 as v from generate_series(1::int8, 1000) i;\n", i)
	}
	for i := range 10 {
		fmt.Fprintf(&sql, "analyze p%d;\n", i)
	}
	sql.WriteString("analyze s0; analyze s1; analyze fact; analyze d1k;")
	return sql.String()
}

func comparePlanning(ctx context.Context, with, without *harness.Session, q workload) (*planResult, error) {
	r := &planResult{Workload: q.name}
	var times [2][]float64
	for i := range planRuns {
		for side, s := range []*harness.Session{without, with} {
			us, err := s.PlanningTime(ctx, q.sql)
			if err != nil {
				return nil, err
			}
			if i > planRuns/10 { // the first ones warm caches
				times[side] = append(times[side], us)
			}
		}
	}
	plan, err := with.Explain(ctx, "", q.sql)
	if err != nil {
		return nil, err
	}
	r.Offloaded = len(plan.Jobs()) > 0
	r.WithoutUs = measure.Round(measure.Median(times[0]), 1)
	r.WithUs = measure.Round(measure.Median(times[1]), 1)
	r.Us = measure.Round(r.WithUs-r.WithoutUs, 1)
	r.Ratio = measure.Round(r.WithUs/r.WithoutUs, 3)
	return r, nil
}
