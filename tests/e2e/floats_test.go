package e2e

import (
	"fmt"
	"testing"
)

// Sums and averages of floats are near the native plan's, and the same in every
// digit whatever the order of the rows and the number of workers.
func TestFloatAggregates(t *testing.T) {
	w := theWorld(t)
	s := w.Session(t, native, `
		create schema if not exists floats; set search_path = floats;
		drop table if exists measured, shuffled;
		select setseed(0.25);
		create table measured as select g as id, g % 1000 as grp, random() * 1000 as x, (random() - 0.5)::float4 as y, random() - 0.5 as z
			from generate_series(1, 1000000) g;
		create table shuffled as select * from measured order by md5(id::text);
		analyze measured, shuffled`)
	for _, key := range []string{"0", "grp", "id"} {
		t.Run("by "+key, func(t *testing.T) {
			const values = "sum(x) as sx, avg(x) as ax, sum(y) as sy, avg(y) as ay, sum(z) as sz, avg(z) as az"
			exec(t, s, native)
			exec(t, s, fmt.Sprintf(`drop table if exists expected; create temp table expected as
				select %s as k, %s, sum(abs(y)) as my, sum(abs(z)) as mz, count(*) as n from measured group by 1; analyze expected`, key, values))
			exec(t, s, forced+"set gpujoin.enable_aggregates = on; set gpujoin.float_aggregates = on")
			sums := fmt.Sprintf("select %s as k, %s from measured group by 1", key, values)
			if n := len(explain(t, s, "analyze, timing off", sums).Jobs()); n != 1 {
				t.Fatalf("%d jobs instead of 1", n)
			}
			exec(t, s, "drop table if exists got; create temp table got as "+sums+"; analyze got")
			exec(t, s, native)
			// Sums of float4 add in float4 natively.
			const far = `select count(*), count(g.k), count(e.k) from got g full join expected e on g.k = e.k
				where (abs(g.sx - e.sx) <= 1e-12 * e.sx and abs(g.ax - e.ax) <= 1e-12 * e.ax and abs(g.sz - e.sz) <= 1e-12 * e.mz
					and abs(g.az - e.az) <= 1e-12 * e.mz / e.n and abs(g.ay - e.ay) <= 1e-12 * e.my / e.n
					and abs(g.sy - e.ay * e.n) <= 1e-7 * abs(e.ay * e.n) + 1e-12 * e.my) is not true`
			if n := query(t, s, far).Rows[0]; n != "0\t0\t0" {
				t.Errorf("groups that are far from the native plan's, or are missing: %s", n)
			}
			groups := query(t, s, "select count(*) from got").Rows[0]
			for workers, table := range map[int]string{0: "shuffled", 3: "measured"} {
				exec(t, s, fmt.Sprintf("%s set gpujoin.float_aggregates = on; set max_parallel_workers_per_gather = %d", forced, workers))
				same := fmt.Sprintf(`with r as materialized (select %s as k, %s from %s group by 1)
						select count(*) from r join got g using (k) where (r.sx, r.ax, r.sy, r.ay, r.sz, r.az) = (g.sx, g.ax, g.sy, g.ay, g.sz, g.az)`, key, values, table)
				if n := query(t, s, same).Rows[0]; n != groups {
					t.Errorf("%s with %d workers: %s of %s groups have the same digits", table, workers, n, groups)
				}
			}
		})
	}
	exec(t, s, "drop schema floats cascade")
	w.Unharmed(t, s)
}

// A generic plan that adds floats in the daemon is not used once the setting is off.
func TestCachedPlanFollowsFloatAggregates(t *testing.T) {
	w := theWorld(t)
	s := w.Session(t, forced, "set gpujoin.enable_aggregates = on", "set plan_cache_mode = force_generic_plan", "set gpujoin.float_aggregates = on",
		"prepare added as select g, sum(id::float8) from fact group by g")
	for _, c := range []struct {
		set  string
		jobs int
	}{{"on", 1}, {"off", 0}, {"on", 1}} {
		exec(t, s, "set gpujoin.float_aggregates = "+c.set)
		if plan := explain(t, s, "", "execute added"); len(plan.Jobs()) != c.jobs {
			t.Errorf("gpujoin.float_aggregates = %s: %d jobs instead of %d in %v", c.set, len(plan.Jobs()), c.jobs, plan)
		}
	}
	w.Unharmed(t, nil)
}
