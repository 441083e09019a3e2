package e2e

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// The notice about more expensive joins and aggregations has the cost of their
// native plans, as EXPLAIN shows it, and the jobs' costs.
func TestRejectedCost(t *testing.T) {
	w := theWorld(t)
	s := w.Session(t, "set gpujoin.min_rows = 0", "set gpujoin.startup_cost = 1e6", "set gpujoin.explain_rejected = on", "set gpujoin.enable_aggregates = on")
	for _, workers := range []int{0, 2} {
		exec(t, s, fmt.Sprintf("set max_parallel_workers_per_gather = %d; set parallel_setup_cost = 0; set parallel_tuple_cost = 0; set min_parallel_table_scan_size = 0", workers))
		s.Notices()
		plan := strings.Join(query(t, s, "explain "+twoJoins).Rows, "\n")
		notices := s.Notices()
		if len(notices) != 1 {
			t.Fatalf("%d workers: not one notice: %q", workers, notices)
		}
		costs := regexp.MustCompile(`Join +\(cost=\S+\.\.(\S+) `).FindAllStringSubmatch(plan, -1)
		total := regexp.MustCompile(`Aggregate +\(cost=\S+\.\.(\S+) `).FindStringSubmatch(plan)
		if len(costs) != 2 || total == nil {
			t.Fatalf("%d workers: not two native joins and an aggregation:\n%s", workers, plan)
		}
		want := regexp.MustCompile(fmt.Sprintf(`^NOTICE: 2 joins and 1 aggregation stay native: cost\n`+
			`DETAIL: The native plan is expected to be cheaper\. The costliest first: `+
			`aggregation of f, d, t \(native cost %s, offloaded cost \d+\.\d\d\); `+
			`f, d, t \(native cost %s, offloaded cost \d+\.\d\d\); (f, d|f, t) \(native cost %s, offloaded cost \d+\.\d\d\)\.$`,
			regexp.QuoteMeta(total[1]), regexp.QuoteMeta(costs[0][1]), regexp.QuoteMeta(costs[1][1])))
		if !want.MatchString(notices[0]) {
			t.Errorf("%d workers: %q does not match %s; the plan:\n%s", workers, notices[0], want, plan)
		}
	}
}

// There is a notice for every join and aggregation of a plan, whatever settings
// made it native, and one for each reason.
func TestEveryRejectionIsSaid(t *testing.T) {
	w := theWorld(t)
	one := regexp.MustCompile(`^NOTICE: (?:join|aggregation) of .* stays native: (\w+)\n`)
	many := regexp.MustCompile(`^NOTICE: (?:(\d+) joins?)?(?: and )?(?:(\d+) aggregations?)? stay native: (\w+)\n`)
	join := regexp.MustCompile(`(?:Nested Loop|(?:Hash|Merge)(?: \w+)* Join|Hash Join|Merge Join) +\(cost`)
	queries := []struct {
		text         string
		aggregations int
	}{
		{twoJoins, 1},
		{"select f.id from fact f join dim d on f.k = d.k order by d.k limit 3", 0},
		{"select f.id from fact f left join dim d on f.k = d.k join tiny t on f.g = t.g", 0},
		{"select f.id from fact f join dim d on f.k = d.k where now() > '2020-01-01'", 0},
		{"select f.id from fact f where exists (select from dim d join tiny t on d.v = t.g where d.k = f.k)", 0},
		{"select (select count(*) from dim d join tiny t on d.v = t.g where d.k = f.k) from fact f join tiny t on f.g = t.g", 1},
		{"select f.id from fact f join dim d on f.k < d.k join tiny t on t.g = d.v limit 1", 0},
		{"select count(*) from fact f join dim d on f.k = d.k join dim e on e.v = d.v union all select d.v from dim d join tiny t on t.g = d.v", 1},
		{"select string_agg(d.v::text, ',') from fact f join dim d on f.k = d.k", 1},
		{"select g, count(*) from fact group by rollup (g)", 1},
		{"select distinct g, count(*) from fact group by g", 2},
		{"select distinct f.g, d.v from fact f join dim d on f.k = d.k", 1},
		{"select distinct on (g) g, id from fact order by g, id", 1},
		{"select min(k) from dim", 1},
		{"select g, (select max(v) from dim where k < 9) from fact group by g order by g limit 2", 2},
		{"select count(*) from (select g, sum(id) from fact group by g offset 0) s join tiny t on s.g = t.g", 2},
	}
	settings := [][]string{
		{},
		{"set gpujoin.min_rows = 0"},
		{"set gpujoin.min_rows = 0", "set gpujoin.startup_cost = 0"},
		{"set gpujoin.min_rows = 0", "set gpujoin.startup_cost = 0", "set max_parallel_workers_per_gather = 0"},
		{"set gpujoin.min_rows = 0", "set min_parallel_table_scan_size = 0", "set parallel_setup_cost = 0"},
		{"set gpujoin.min_rows = 0", "set gpujoin.verify = on"},
		{"set gpujoin.debug_force = on"},
		{"set gpujoin.debug_force = on", "set gpujoin.socket = '/nonexistent'"},
		{"set geqo_threshold = 2", "set gpujoin.min_rows = 0"},
	}
	for _, set := range settings {
		s := w.Session(t, append(slices.Clone(set), "set gpujoin.explain_rejected = on", "set gpujoin.enable_aggregates = on")...)
		for _, q := range queries {
			s.Notices()
			plan := strings.Join(query(t, s, "explain "+q.text).Rows, "\n")
			want := len(join.FindAllString(plan, -1)) + q.aggregations - strings.Count(plan, "Custom Scan (OffloadBlock)")
			got := 0
			notices := s.Notices()
			reasons := map[string]bool{}
			for _, n := range notices {
				reason := ""
				if m := one.FindStringSubmatch(n); m != nil {
					got, reason = got+1, m[1]
				} else if m := many.FindStringSubmatch(n); m != nil {
					joins, _ := strconv.Atoi(m[1])
					aggregations, _ := strconv.Atoi(m[2])
					got, reason = got+joins+aggregations, m[3]
				} else {
					t.Fatalf("%v, %s: %q", set, q.text, n)
				}
				if reasons[reason] {
					t.Errorf("%v, %s: two notices about %s: %q", set, q.text, reason, notices)
				}
				reasons[reason] = true
			}
			if got != want {
				t.Errorf("%v, %s: %d native joins and aggregations, %d in notices: %q; the plan:\n%s", set, q.text, want, got, notices, plan)
			}
		}
	}
}

// Up to PostgreSQL 16 the planner calls no extension for a join with a
// condition that refers to no table.
func TestRejectedGated(t *testing.T) {
	w := theWorld(t)
	s := w.Session(t, forced, "set gpujoin.explain_rejected = on")
	if query(t, s, "select current_setting('server_version_num')::int >= 170000").Rows[0] == "t" {
		t.Skip("PostgreSQL 17 asks about such joins")
	}
	s.Notices()
	query(t, s, "explain select f.id from fact f join dim d on f.k = d.k where now() > '2020-01-01'")
	if n := s.Notices(); len(n) != 1 || !strings.HasPrefix(n[0], "NOTICE: join of f, d stays native: gated\n") {
		t.Errorf("%q", n)
	}
}
