package join

import (
	"context"
	"fmt"
	"strings"

	"gpujoin/tests/harness"
	"gpujoin/tests/measure"
)

// planResult is what planning takes: Us is the additional time with the extension loaded.
type planResult struct {
	Workload          string
	Us                float64
	WithUs, WithoutUs float64
	Ratio             float64
	Offloaded         bool
}

func (r *planResult) result() measure.Result {
	plan := "native"
	if r.Offloaded {
		plan = "offloaded"
	}
	return measure.Result{Name: r.Workload, Engine: measure.Gpujoin, Texts: map[string]string{"plan": plan},
		Values: map[string]float64{"us": r.Us, "with_us": r.WithUs, "without_us": r.WithoutUs, "ratio": r.Ratio}}
}

// planRuns is the number of times that a query is planned each way; planning takes
// fractions of a millisecond.
const planRuns = 300

// keepHeap frees a block of 30 MB. A session whose free memory happens to be at the end of
// its heap returns it to the kernel after each query and gets it back page by page in
// the next one, which may take half as long as planning. After it has freed a large
// block, glibc keeps more than planning needs, and the heaps of both sessions are alike.
const keepHeap = "select octet_length(repeat('x', 30000000))"

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
	// A session that has made the tables has larger caches than one that plans only.
	with, err := b.cluster.Connect(b.ctx)
	if err != nil {
		return err
	}
	defer with.Close()
	for _, s := range []*harness.Session{without, with} {
		if err := s.Exec(b.ctx, keepHeap); err != nil {
			return err
		}
	}
	rows := []string{"planning\twithout us\twith us\tadded us\tratio\tbar\toffloaded"}
	for _, q := range []workload{
		{"plan-rejected", "select sum(x.v), sum(y.v) from s0 x join s1 y on x.a = y.a"},
		{"plan-rejected-type", "select sum(x.v), sum(y.v) from p0 x join p1 y on x.f = y.f"},
		{"plan-rejected-cost", "select x.v, y.v from fact x join d1k y on x.k1k = y.k limit 10"},
		{"plan-10way", chain(10)},
		{"plan-12way-geqo", chain(12)},
		{"plan-star8", star(8)},
		{"plan-200-partitions", "select p1.v, sum(parts.v) from parts join p1 on parts.b = p1.a group by 1"},
	} {
		r, err := comparePlanning(b.ctx, with, without, q)
		if err != nil {
			return fmt.Errorf("%s: %w", q.name, err)
		}
		b.results = append(b.results, r.result())
		say("  %s: %.0f us without the extension, %.0f with it", r.Workload, r.WithoutUs, r.WithUs)
		rows = append(rows, fmt.Sprintf("%s\t%.0f\t%.0f\t%.0f\t%.3f\t%v\t%v", r.Workload, r.WithoutUs, r.WithUs, r.Us, r.Ratio,
			measure.BarOf("bench-join", r.Workload, "ratio"), r.Offloaded))
	}
	return b.addTables(rows)
}

// chain returns a query over n tables, each joined with the next one. The genetic
// search plans chains of twelve tables and more.
func chain(n int) string {
	var from, where []string
	for i := range n {
		from = append(from, fmt.Sprintf("p%d", i))
		if i > 0 {
			where = append(where, fmt.Sprintf("p%d.b = p%d.a", i-1, i))
		}
	}
	return fmt.Sprintf("select sum(p0.v), sum(p%d.v) from %s where %s", n-1, strings.Join(from, ", "), strings.Join(where, " and "))
}

// star returns a query over n tables of which one has a key for each of the others.
func star(n int) string {
	from, where := []string{"hub"}, []string{}
	for i := 1; i < n; i++ {
		from = append(from, fmt.Sprintf("p%d", i))
		where = append(where, fmt.Sprintf("hub.k%d = p%d.a", i, i))
	}
	return fmt.Sprintf("select p1.v, sum(hub.v) from %s where %s group by 1", strings.Join(from, ", "), strings.Join(where, " and "))
}

// planTables returns tables that pass the size gate together, and two that do not.
func planTables() string {
	var sql strings.Builder
	for i := range 12 {
		fmt.Fprintf(&sql, "create table p%d as select i as a, (i * 7) %% 50000 as b, i %% 100 as v, array[i] as f from generate_series(1::int8, 50000) i;\n", i)
	}
	for i := range 2 {
		fmt.Fprintf(&sql, "create table s%d as select i as a, i %% 100 as v from generate_series(1::int8, 1000) i;\n", i)
	}
	for i := range 12 {
		fmt.Fprintf(&sql, "analyze p%d;\n", i)
	}
	sql.WriteString("create table hub as select i % 100 as v")
	for i := 1; i < 8; i++ {
		fmt.Fprintf(&sql, ", (i * %d) %% 50000 as k%d", i, i)
	}
	sql.WriteString(" from generate_series(1::int8, 50000) i; analyze hub;\n")
	sql.WriteString("create table parts (a int8, b int8, v int8) partition by range (a);\n")
	for i := range 200 {
		fmt.Fprintf(&sql, "create table parts%d partition of parts for values from (%d) to (%d);\n", i, i*1000, (i+1)*1000)
	}
	sql.WriteString("insert into parts select i, i % 50000, i % 100 from generate_series(0::int8, 199999) i; analyze parts;\n")
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
