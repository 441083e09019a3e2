package fault

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"gpujoin/tests/harness"
)

// arms returns a UNION ALL of n joins, each of them a job.
func arms(n int) string {
	var b strings.Builder
	b.WriteString("select count(*), sum(v), sum(length(note)) from (")
	for i := range n {
		if i > 0 {
			b.WriteString(" union all ")
		}
		fmt.Fprintf(&b, "select d.v, t.name as note from dim d join tiny t on d.k = t.g where d.v < %d", 50+i)
	}
	b.WriteString(") x")
	return b.String()
}

// fellBack returns the reasons of the joins that ran natively.
func fellBack(joins []harness.Node) (reasons []string) {
	for _, j := range joins {
		if r := j.Text("Fallback"); r != "" {
			reasons = append(reasons, r)
		}
	}
	return reasons
}

// Many jobs of one plan that run one after the other, or a few at a time, need
// memory only for those few: all are offloaded, and the daemon never holds more
// than a few of them.
func TestArmsUnderASmallBudget(t *testing.T) {
	r := newTightDaemon(t, 4)
	for _, c := range []struct {
		name, settings string
		arms           int
	}{
		{"serial", serial, 400},
		{"parallel", "set max_parallel_workers_per_gather = 2", 60},
		{"parallel append off", "set max_parallel_workers_per_gather = 2; set enable_parallel_append = off", 60},
		{"leader off", "set max_parallel_workers_per_gather = 2; set parallel_leader_participation = off", 60},
		{"no worker launched", "set max_parallel_workers_per_gather = 2; set max_parallel_workers = 0", 60},
	} {
		t.Run(c.name, func(t *testing.T) {
			sql := arms(c.arms)
			s := r.session(t, c.settings)
			ctx, cancel := context.WithTimeout(context.Background(), 5*patience)
			defer cancel()
			plan, err := s.Explain(ctx, "analyze, timing off", sql)
			if err != nil {
				t.Fatal(err)
			}
			joins := plan.OffloadJoins()
			if len(joins) != c.arms {
				t.Fatalf("%d of %d joins are OffloadJoins", len(joins), c.arms)
			}
			if reasons := fellBack(joins); len(reasons) > 0 {
				t.Errorf("%d of %d joins fell back: %s", len(reasons), c.arms, reasons[0])
			}
			if n := plan.OffloadedJoins(); n != c.arms {
				t.Errorf("%d of %d joins have statistics", n, c.arms)
			}
			for _, j := range joins {
				fed, returned := 0.0, 0.0
				for _, p := range j.Participants() {
					fed += p.Number("Fed Rows")
					returned += p.Number("Returned Rows")
				}
				if fed != j.Number("Rows In") || returned != j.Number("Rows Out") {
					t.Errorf("of %v rows in and %v out participants have %v and %v", j["Rows In"], j["Rows Out"], fed, returned)
				}
			}
			r.right(t, sql, <-ask(s, sql))
		})
	}
	r.settles(t)
	r.unharmed(t, nil)
}

// After a sort has read all rows of a join, the join's job is over and holds
// nothing while a cursor is open. The same is true while the other half of a
// plan is still to come.
func TestFinishedJobHoldsNothing(t *testing.T) {
	w := theWorld(t)
	for _, c := range []struct{ name, sql string }{
		{"sort", theJoin + " order by f.id"},
		{"sort, verified", theJoin + " order by f.id"},
		{"append", "select f.id from fact f join dim d on f.k = d.k where f.id = 1 union all select i from generate_series(1::int8, 40000) i"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := w.Session(t, forced, serial)
			if strings.HasSuffix(c.name, "verified") {
				exec(t, s, "set gpujoin.verify = on")
			}
			exec(t, s, "begin; declare c no scroll cursor for "+c.sql)
			got := query(t, s, "fetch 100 from c").Rows
			settled(t, s)
			released(t, s)
			rest, err := fetchAll(s, 5000)
			if err != nil {
				t.Fatal(err)
			}
			if all := append(got, rest...); len(all) != len(w.Expect(t, c.sql).Rows) {
				t.Errorf("%d rows", len(all))
			}
			exec(t, s, "commit")
		})
	}
	w.unharmed(t, nil)
}

// A join that is rescanned unchanged keeps only its inputs: its reservation is
// what it uses.
func TestRewindKeepsInputsOnly(t *testing.T) {
	w := theWorld(t)
	const sql = "select t.g, x.id from tiny t left join (select f.g, f.id from fact f join dim d on f.k = d.k offset 0) x on x.g > t.g"
	s := w.Session(t, forced, serial, "set enable_material = off; set enable_hashjoin = off; set enable_mergejoin = off")
	exec(t, s, "begin; declare c no scroll cursor for "+sql)
	query(t, s, "fetch 36001 from c") // the rows of tiny's first row, and one more
	r := reportOf(t, s)
	if len(r.Jobs) != 1 {
		t.Fatalf("%d jobs", len(r.Jobs))
	}
	if rest, err := fetchAll(s, 5000); err != nil || 36001+len(rest) != len(w.Expect(t, sql).Rows) {
		t.Errorf("%d rows, %v", 36001+len(rest), err)
	}
	if r := reportOf(t, s); len(r.Jobs) != 1 || r.Reserved != r.Used {
		t.Errorf("after the last row: %+v", r)
	}
	exec(t, s, "commit")
	settled(t, s)
	w.unharmed(t, s)
}
