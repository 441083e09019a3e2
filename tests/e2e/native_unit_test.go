package e2e

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gpujoin/tests/harness"
)

// shownCost returns the startup cost of the only job in a query's plan.
func shownCost(t *testing.T, s *harness.Session, sql string) float64 {
	t.Helper()
	plan := strings.Join(query(t, s, "explain "+sql).Rows, "\n")
	m := regexp.MustCompile(`Custom Scan \(OffloadJoin\)  \(cost=([\d.]+)\.\.`).FindAllStringSubmatch(plan, -1)
	if len(m) != 1 {
		t.Fatalf("%d jobs, not 1:\n%s", len(m), plan)
	}
	cost, err := strconv.ParseFloat(m[0][1], 64)
	if err != nil {
		t.Fatal(err)
	}
	return cost
}

// Below other joins, no node of a native path counts less than its time is charged.
// The scan of o costs PostgreSQL much, and probes of an index nothing, so that the
// cost of the whole path fits its time. Native plans that join in another order have
// such a scan, too, but not the probes.
func TestJobBelowOtherJoins(t *testing.T) {
	w := newWorld(t)
	s := w.Session(t, "set max_parallel_workers_per_gather = 0", "set gpujoin.min_rows = 0", "set gpujoin.cost_margin = 0",
		"set gpujoin.startup_cost = 1", "set gpujoin.cached_page_cost = 0.01", "set join_collapse_limit = 1",
		"set enable_hashjoin = off", "set enable_mergejoin = off", "set enable_bitmapscan = off", "set enable_material = off",
		"set enable_memoize = off", "set random_page_cost = 0.001", "set seq_page_cost = 8",
		"set cpu_tuple_cost = 0.00001", "set cpu_index_tuple_cost = 0.00001")
	exec(t, s, `create table wide as select g as k, g as v, repeat('x', 500) as x from generate_series(1, 20000) g;
		create table probed as select g as k from generate_series(1, 20000) g;
		create table one as select 1 as x;
		create index on probed (k);
		analyze wide, probed, one`)
	for _, c := range []struct {
		operator    string // what a comparison costs, of which a probe has many
		least, most float64
	}{{"0.000001", 1.3, 3}, {"0.01", 1, 1.01}} {
		exec(t, s, "set cpu_operator_cost = "+c.operator)
		alone := shownCost(t, s, "select o.v from wide o join probed p using (k)")
		below := shownCost(t, s, "select o.v from (wide o join probed p using (k)) join one on one.x > o.v")
		if below < c.least*alone || below > c.most*alone {
			t.Errorf("with cpu_operator_cost = %s a job costs %v below another join and %v alone, not %v to %v times as much",
				c.operator, below, alone, c.least, c.most)
		}
	}
}

// The time of grouping sets is that of each set, whatever PostgreSQL takes a
// comparison or a row to cost.
func TestTimeOfGroupingSets(t *testing.T) {
	w := newWorld(t)
	s := w.Session(t, append(slices.Clone(free), "set gpujoin.estimate_native = on", "set gpujoin.enable_aggregates = on")...)
	exec(t, s, `create table grouped as select g % 7 as a, g % 11 as b, g % 13 as c, g as v from generate_series(1, 50000) g;
		analyze grouped`)
	time := func(sets string) float64 {
		t.Helper()
		return nativeTime(t, s, "select sum(v) from grouped group by "+sets)
	}
	for _, c := range []struct {
		hashed string
		more   float64 // that a third set takes, hashed or sorted
	}{{"on", 1.15}, {"off", 1.3}} {
		exec(t, s, "set enable_hashagg = "+c.hashed)
		set := func(factor float64) {
			exec(t, s, fmt.Sprintf("set cpu_tuple_cost = %v; set cpu_operator_cost = %v", 0.01*factor, 0.0025*factor))
		}
		const three = "grouping sets ((a), (b), (c))"
		set(1)
		two, all := time("grouping sets ((a), (b))"), time(three)
		if all < c.more*two {
			t.Errorf("enable_hashagg = %s: three sets take %v of the time of two", c.hashed, all/two)
		}
		set(10)
		if dear := time(three); math.Abs(dear/all-1) > 0.01 {
			t.Errorf("enable_hashagg = %s: with costs of ten times as much the sets take %v of their time", c.hashed, dear/all)
		}
	}
}
