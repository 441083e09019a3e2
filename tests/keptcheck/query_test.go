package keptcheck

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"gpujoin/tests/harness"
)

// A seed draws the same queries in each run.
func TestQueriesFollowSeed(t *testing.T) {
	draw := func(seed uint64) (list []query) {
		q := queries{rand.New(rand.NewPCG(seed, 1)), tables(false)}
		for range 50 {
			list = append(list, q.draw())
		}
		return list
	}
	if a, b := fmt.Sprint(draw(1)), fmt.Sprint(draw(1)); a != b {
		t.Errorf("one seed, two lists:\n%s\n%s", a, b)
	}
	if fmt.Sprint(draw(1)) == fmt.Sprint(draw(2)) {
		t.Error("two seeds have the same queries")
	}
}

// A kept run that fails is a difference, unless a conflict or a fault is the cause.
func TestExcused(t *testing.T) {
	state := func(code string) error { return &pgconn.PgError{Code: code} }
	for _, c := range []struct {
		err       error
		disturbed bool
		excused   bool
	}{
		{state("40001"), false, true},
		{state("08006"), true, true},
		{state("08006"), false, false},
		{fmt.Errorf("%w: EOF", errLost), true, true},
		{fmt.Errorf("%w: EOF", errLost), false, false},
		{state("22012"), true, false},
		{state("57014"), true, false},
		{fmt.Errorf("%w for 90 s", errHang), true, false},
		{errors.New("anything"), true, false},
	} {
		if got := excused(c.err, c.disturbed); got != c.excused {
			t.Errorf("%v, disturbed %v: excused %v", c.err, c.disturbed, got)
		}
	}
}

// Pairs count in the levels of their blocks, and differences end the run.
func TestCount(t *testing.T) {
	stopped := false
	c := &campaign{w: &world{}, options: Options{Say: t.Logf}, stop: func() { stopped = true }}
	rows := func(n int) *harness.Result { return &harness.Result{Rows: []string{fmt.Sprint(n)}} }
	c.add(&pair{kind: "a", native: rows(1), kept: rows(1), plan: plan{executed: 1, kept: 5, proved: 2}})
	c.add(&pair{kind: "a", native: rows(1), kept: rows(1), plan: plan{executed: 1, fed: 5}})
	c.add(&pair{kind: "a", native: rows(1), kept: rows(1)})
	for range mostCases {
		c.add(&pair{kind: "b", native: rows(1), kept: rows(2), plan: plan{executed: 1}})
	}
	r := &c.report
	if r.Pairs != 2+mostCases || r.Kept != 1 || r.Level1 != 1 || r.Level2 != 1 || r.Fed != 1+mostCases || r.Plain != mostCases ||
		r.Native != 1 || r.Differences != mostCases || len(r.Cases) != mostCases || !stopped {
		t.Errorf("%+v, stopped %v", *r, stopped)
	}
}
