package mirrorcheck

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"gpujoin/tests/harness"
	"gpujoin/tests/harness/foreign"
)

// At the source itself, all invariants hold whatever the writers do, and each writer's kinds
// of transactions commit.
func TestWritersKeepInvariants(t *testing.T) {
	env, err := harness.Prepare()
	if err != nil {
		t.Fatal(err)
	}
	settings := foreign.SourceSettings()
	settings["lock_timeout"], settings["deadlock_timeout"] = "'2s'", "'200ms'"
	source, err := env.NewCluster("", settings)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := source.Stop(); err != nil {
			t.Error(err)
		}
	}()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	s, err := source.Connect(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	w := &world{World: &foreign.World{Env: env, Source: source}, sizes: sizesOf(true), pause: 5 * time.Millisecond}
	if err := s.Exec(ctx, w.sizes.schema()+fmt.Sprintf("create table products as select i as product, 'product ' || i as name from generate_series(1, %d) i", w.sizes.products)); err != nil {
		t.Fatal(err)
	}
	running, stop := context.WithTimeout(ctx, 4*time.Second)
	defer stop()
	var all sync.WaitGroup
	for i := range writers {
		x := &writer{client: &client{Rand: rand.New(rand.NewPCG(1, uint64(i))), world: w, name: fmt.Sprint("writer ", i+1)}, w: i + 1}
		all.Go(func() {
			if err := x.run(running); err != nil {
				t.Error(err)
			}
			x.close()
		})
	}
	queries := 0
	for running.Err() == nil {
		for _, v := range w.sizes.invariants() {
			got, err := s.Query(ctx, v.sql)
			if err != nil {
				t.Fatalf("%s: %v", v.name, err)
			}
			if len(got.Rows) != 1 || got.Rows[0] != v.want {
				t.Fatalf("%s: %q instead of %q", v.name, got.Rows, v.want)
			}
			queries++
		}
	}
	all.Wait()
	changed, err := s.One(ctx, `select format('%s %s %s %s %s %s', (select sum(n) > 100 from beats), (select sum(moves) > 50 from debit), (select count(*) > 20 from orders),
		(select sum(v) > 0 from docs), (select count(*) > 0 from swaps where id < 0), (select sum(n) > 0 from loose))`)
	if err != nil || changed != "t t t t t t" {
		t.Errorf("%s, %v", changed, err)
	}
	if w.commits.Load() < 100 || queries < 20 {
		t.Errorf("%d commits, %d queries", w.commits.Load(), queries)
	}
}

// A statement is judged by its values, by what its session and its transaction have seen, and
// by what had been committed before it.
func TestJudge(t *testing.T) {
	stopped := false
	c := newCampaign(&world{}, Options{Say: t.Logf}, func() { stopped = true })
	r := &reader{campaign: c, seen: map[string]*seen{"near": {beats: [writers]int64{5, 5, 5, 5, 5, 5}, position: 100}}}
	v := &invariant{name: "v", want: "1\tt"}
	good := foreign.Plan{Mirrored: 2, Position: 100, Positions: 1}
	row := func(text string) *harness.Result { return &harness.Result{Rows: []string{text}} }
	wrong := func(what string, x *reading, got *harness.Result, p foreign.Plan, want string) {
		t.Helper()
		before := c.report.Violations
		r.judge(x, v, got, p)
		if want == "" && c.report.Violations != before {
			t.Errorf("%s: %v", what, c.report.Cases)
		}
		if want != "" && (c.report.Violations != before+1 || !strings.Contains(c.report.Cases[before], want)) {
			t.Errorf("%s: %d violations, %q", what, c.report.Violations-before, c.report.Cases)
		}
	}
	const beats = "1:5 2:5 3:5 4:5 5:5 6:6"
	x := func() *reading { return &reading{server: "near"} }
	wrong("right", x(), row(beats+"\t1\tt"), good, "")
	wrong("a value", x(), row(beats+"\t1\tf"), good, `"1\tf" instead of`)
	wrong("older beats", x(), row("1:5 2:5 3:5 4:5 5:5 6:5\t1\tt"), good, "writer 6 was seen at 6")
	wrong("newer beats", x(), row("1:5 2:5 3:5 4:5 5:5 6:9\t1\tt"), good, "")
	wrong("no read of an own write", &reading{server: "near", latest: true, floor: [writers]int64{0, 7}}, row("1:5 2:6 3:5 4:5 5:5 6:9\t1\tt"), good, "writer 2 had committed 7")
	wrong("another state", &reading{server: "near", same: true, first: &[writers]int64{5, 6, 5, 5, 5, 9}}, row("1:8 2:6 3:5 4:5 5:5 6:9\t1\tt"), good, "two states")
	wrong("a position", x(), row("1:8 2:6 3:5 4:5 5:5 6:9\t1\tt"), foreign.Plan{Mirrored: 1, Position: 99, Positions: 1}, "position went back")
	if c.report.Queries != 7 || c.report.Mirrored != 7 || !stopped {
		t.Errorf("%+v, stopped %v", c.report, stopped)
	}
}

// Errors are excused by faults only, and only those that a fault can cause.
func TestExcused(t *testing.T) {
	state := func(code string) error { return fmt.Errorf("near: %w", &pgconn.PgError{Code: code}) }
	for _, c := range []struct {
		err       error
		disturbed bool
		excused   bool
	}{
		{state("08001"), true, true}, {state("08001"), false, false}, {state("57014"), true, true}, {state("22012"), true, false},
		{state("XX000"), true, false}, {errLost, true, true}, {errLost, false, false}, {errors.New("anything"), true, false},
	} {
		if got := excused(c.err, c.disturbed); got != c.excused {
			t.Errorf("%v, disturbed %v: excused %v", c.err, c.disturbed, got)
		}
	}
}
