package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"gpujoin/tests/harness"
)

// All ways to run a plan other than once to the end.
func TestExecutor(t *testing.T) {
	w := theWorld(t)
	for _, c := range []struct{ name, settings, sql string }{
		{"whole", "", theJoin},
		{"limit", "", "select count(*) from (" + theJoin + " limit 100) x"},
		{"lateral", "set enable_memoize = off",
			"select t.g, x.n from tiny t, lateral (select count(*) as n from fact f join dim d on f.k = d.k where f.g = t.g) x"},
		{"inner of a nested loop", "set enable_material = off",
			"select t.g, count(*), min(x.id) from tiny t left join (select f.g, f.id from fact f join dim d on f.k = d.k offset 0) x on x.g >= t.g group by t.g"},
		{"correlated subquery", "",
			"select t.g, (select sum(d.v) from fact f join dim d on f.k = d.k where f.g = t.g) from tiny t"},
		{"uncorrelated subquery", "",
			"select t.g from tiny t where 300000 < (select count(*) * 10 from fact f join dim d on f.k = d.k)"},
		{"with materialized", "",
			"with x as materialized (select f.g, d.v from fact f join dim d on f.k = d.k) select a.g, count(*) from x a group by a.g"},
		{"union all", "",
			"select f.id from fact f join dim d on f.k = d.k union all select f.id from fact f join tiny t on f.g = t.g"},
		{"two jobs in one plan", "",
			"select a.n, b.n from (select count(*) as n from fact f join dim d on f.k = d.k) a, (select count(*) as n from fact f join tiny t on f.g = t.g) b"},
		{"outer join above", "",
			"select t.g, x.id from tiny t left join (select f.g, f.id from fact f join dim d on f.k = d.k where d.v < 100) x on x.g = t.g"},
		{"conditions between sides", "",
			"select f.id, d.v from fact f join dim d on f.k = d.k and f.id < d.v"},
		{"empty side", "", "select f.id, d.v from fact f join dim d on f.k = d.k where d.v < 0"},
		{"window", "", "select f.id, row_number() over (partition by f.g order by f.id) from fact f join dim d on f.k = d.k where f.id <= 500"},
		{"order", "", theJoin + " order by f.id desc, d.v"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := w.Session(t)
			for _, workers := range []int{0, 2} {
				exec(t, s, fmt.Sprintf("reset all; set max_parallel_workers_per_gather = %d; %s", workers, c.settings))
				sameAsNative(t, s, c.sql)
			}
		})
	}
	w.Unharmed(t, nil)
}

func TestCursors(t *testing.T) {
	w := theWorld(t)
	s := w.Session(t, native)
	want := slices.Sorted(slices.Values(query(t, s, theJoin).Rows))
	for _, hold := range []string{"", "with hold"} {
		for _, end := range []string{"close c; commit", "commit", "rollback"} {
			exec(t, s, forced+"begin; declare c cursor "+hold+" for "+theJoin)
			var got []string
			for range 5 {
				got = append(got, query(t, s, "fetch 777 from c").Rows...)
			}
			if len(got) != 5*777 || !isSubset(got, want) {
				t.Errorf("%s cursor: %d rows, not all of the join", hold, len(got))
			}
			exec(t, s, end)
			if hold != "" && end == "commit" {
				rest := query(t, s, "fetch all from c").Rows
				if all := slices.Sorted(slices.Values(append(got, rest...))); !slices.Equal(all, want) {
					t.Errorf("held cursor: %d rows after commit, %d in all instead of %d", len(rest), len(all), len(want))
				}
				exec(t, s, "close c")
			}
		}
	}
	w.Unharmed(t, s)
}

func isSubset(some, sorted []string) bool {
	some = slices.Sorted(slices.Values(some))
	i := 0
	for _, row := range some {
		for i < len(sorted) && sorted[i] < row {
			i++
		}
		if i == len(sorted) || sorted[i] != row {
			return false
		}
		i++
	}
	return true
}

// A prepared statement's plan outlives the daemon it was made for, and settings
// that disable offloading.
func TestPreparedStatements(t *testing.T) {
	w := newWorld(t)
	s := w.Session(t, native)
	const text = "select f.id, d.v from fact f join dim d on f.k = d.k where f.g = $1 and d.v >= $2"
	expect := func(g, v int) *harness.Result {
		return query(t, w.Session(t, native), strings.NewReplacer("$1", fmt.Sprint(g), "$2", fmt.Sprint(v)).Replace(text))
	}
	exec(t, s, forced+"set plan_cache_mode = force_generic_plan; prepare p (int8, int8) as "+text)
	check := func(what string, offloaded int) {
		t.Helper()
		for g := range 3 {
			v := g * 1000
			if d := harness.SameRows(expect(g, v), query(t, s, fmt.Sprintf("execute p (%d, %d)", g, v))); d != "" {
				t.Errorf("%s: %s", what, d)
			}
		}
		if n := explain(t, s, "analyze, timing off", "execute p (1, 1000)").OffloadedJoins(); n != offloaded {
			t.Errorf("%s: %d joins offloaded instead of %d", what, n, offloaded)
		}
	}
	check("fresh", 1)
	exec(t, s, "set gpujoin.enabled = off")
	check("switched off", 0)
	exec(t, s, "set gpujoin.enabled = on")
	check("switched on", 1)
	if err := w.Daemon.Kill(); err != nil {
		t.Fatal(err)
	}
	check("without a daemon", 0)
	w.Restart(t)
	check("with another daemon", 1)
	exec(t, s, "alter table dim add column w int8 default 7")
	check("after DDL", 1)
	exec(t, s, "alter table dim drop column w")
	w.Unharmed(t, s)
}

// Errors during a join, caught and not caught.
func TestSubtransactions(t *testing.T) {
	w := theWorld(t)
	s := w.Session(t, forced)
	const failing = "select sum(1 / (d.v - 20000)) from fact f join dim d on f.k = d.k"
	exec(t, s, "begin; savepoint a")
	for range 20 {
		ctx, cancel := bounded()
		_, err := s.Query(ctx, failing)
		cancel()
		if harness.SQLState(err) != "22012" {
			t.Fatalf("%v instead of a division by zero", err)
		}
		exec(t, s, "rollback to a")
	}
	if h, err := harness.HoldingsOf(s.PID()); err != nil || h.MemFDs > 0 || h.Mapped > 0 {
		t.Errorf("after aborted subtransactions the backend holds %+v, %v", h, err)
	}
	exec(t, s, "commit")
	// The error is caught while the outer query's own join continues.
	exec(t, s, `create or replace function pg_temp.caught() returns int8 language plpgsql as $$
		declare n int8 := 0; r record;
		begin
			for r in select f.id from fact f join dim d on f.k = d.k where f.id <= 50 loop
				begin
					perform `+strings.TrimPrefix(failing, "select ")+`;
				exception when division_by_zero then
					n := n + 1;
				end;
			end loop;
			return n;
		end $$`)
	if n := query(t, s, "select pg_temp.caught()").Rows[0]; n != "50" {
		t.Errorf("%s errors were caught instead of 50", n)
	}
	w.Unharmed(t, s)
}
