package e2e

import (
	"fmt"
	"math"
	"slices"
	"testing"
)

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
