package e2e

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The notice about a more expensive join has its native plan's cost, as EXPLAIN
// shows it, and the job's cost.
func TestRejectedCost(t *testing.T) {
	w := theWorld(t)
	s := w.session(t, "set gpujoin.min_rows = 0", "set gpujoin.startup_cost = 1e6", "set gpujoin.explain_rejected = on")
	for _, workers := range []int{0, 2} {
		exec(t, s, fmt.Sprintf("set max_parallel_workers_per_gather = %d; set parallel_setup_cost = 0; set parallel_tuple_cost = 0; set min_parallel_table_scan_size = 0", workers))
		s.Notices()
		plan := strings.Join(query(t, s, "explain "+twoJoins).Rows, "\n")
		notices := s.Notices()
		if len(notices) != 1 {
			t.Fatalf("%d workers: not one notice: %q", workers, notices)
		}
		costs := regexp.MustCompile(`Join +\(cost=\S+\.\.(\S+) `).FindAllStringSubmatch(plan, -1)
		if len(costs) != 2 {
			t.Fatalf("%d workers: not two native joins:\n%s", workers, plan)
		}
		want := regexp.MustCompile(fmt.Sprintf(`^NOTICE: 2 joins stay native: cost\n`+
			`DETAIL: The native plan is expected to be cheaper\. The costliest first: `+
			`f, d, t \(native cost %s, offloaded cost \d+\.\d\d\); (f, d|f, t) \(native cost %s, offloaded cost \d+\.\d\d\)\.$`,
			regexp.QuoteMeta(costs[0][1]), regexp.QuoteMeta(costs[1][1])))
		if !want.MatchString(notices[0]) {
			t.Errorf("%d workers: %q does not match %s; the plan:\n%s", workers, notices[0], want, plan)
		}
	}
}

// There is a notice for every join of a plan, whatever settings made it native.
func TestEveryRejectionIsSaid(t *testing.T) {
	w := theWorld(t)
	number := regexp.MustCompile(`^NOTICE: (?:(\d+) joins stay|join of .* stays) native: \w+\n`)
	join := regexp.MustCompile(`(?:Nested Loop|(?:Hash|Merge)(?: \w+)* Join|Hash Join|Merge Join) +\(cost`)
	queries := []string{
		twoJoins,
		"select f.id from fact f join dim d on f.k = d.k order by d.k limit 3",
		"select f.id from fact f left join dim d on f.k = d.k join tiny t on f.g = t.g",
		"select f.id from fact f join dim d on f.k = d.k where now() > '2020-01-01'",
		"select f.id from fact f where exists (select from dim d join tiny t on d.v = t.g where d.k = f.k)",
		"select (select count(*) from dim d join tiny t on d.v = t.g where d.k = f.k) from fact f join tiny t on f.g = t.g",
		"select f.id from fact f join dim d on f.k < d.k join tiny t on t.g = d.v limit 1",
		"select count(*) from fact f join dim d on f.k = d.k join dim e on e.v = d.v union all select d.v from dim d join tiny t on t.g = d.v",
	}
	settings := [][]string{
		{},
		{"set gpujoin.min_rows = 0"},
		{"set gpujoin.min_rows = 0", "set gpujoin.startup_cost = 0"},
		{"set gpujoin.min_rows = 0", "set gpujoin.startup_cost = 0", "set max_parallel_workers_per_gather = 0"},
		{"set gpujoin.min_rows = 0", "set min_parallel_table_scan_size = 0", "set parallel_setup_cost = 0"},
		{"set gpujoin.min_rows = 0", "set gpujoin.verify = on"},
		{"set gpujoin.force = on"},
		{"set gpujoin.force = on", "set gpujoin.socket = '/nonexistent'"},
		{"set geqo_threshold = 2", "set gpujoin.min_rows = 0"},
	}
	for _, set := range settings {
		s := w.session(t, append(slices.Clone(set), "set gpujoin.explain_rejected = on")...)
		for _, q := range queries {
			s.Notices()
			plan := strings.Join(query(t, s, "explain "+q).Rows, "\n")
			want := len(join.FindAllString(plan, -1))
			got := 0
			notices := s.Notices()
			for _, n := range notices {
				m := number.FindStringSubmatch(n)
				if m == nil {
					t.Fatalf("%v, %s: %q", set, q, n)
				}
				joins := 1
				if m[1] != "" {
					fmt.Sscan(m[1], &joins)
				}
				got += joins
			}
			if got != want {
				t.Errorf("%v, %s: %d native joins, %d in notices: %q; the plan:\n%s", set, q, want, got, notices, plan)
			}
		}
	}
}

// Up to PostgreSQL 16 the planner calls no extension for a join with a
// condition that refers to no table.
func TestRejectedGated(t *testing.T) {
	w := theWorld(t)
	s := w.session(t, forced, "set gpujoin.explain_rejected = on")
	if query(t, s, "select current_setting('server_version_num')::int >= 170000").Rows[0] == "t" {
		t.Skip("PostgreSQL 17 asks about such joins")
	}
	s.Notices()
	query(t, s, "explain select f.id from fact f join dim d on f.k = d.k where now() > '2020-01-01'")
	if n := s.Notices(); len(n) != 1 || !strings.HasPrefix(n[0], "NOTICE: join of f, d stays native: gated\n") {
		t.Errorf("%q", n)
	}
}
