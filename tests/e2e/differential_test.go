package e2e

import (
	"context"
	"testing"

	"gpujoin/tests/differential"
	"gpujoin/tests/harness/sqltest"
)

// Random queries return the same rows, or raise the same errors, natively and
// offloaded. make differential runs more of them.
func TestDifferential(t *testing.T) {
	ctx := context.Background()
	w, err := differential.Start(ctx, sqltest.Env)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Stop(); err != nil {
			t.Error(err)
		}
	})
	c := differential.Campaign{World: w, Queries: 60, Say: t.Logf}
	for seed := uint64(4); seed < 7; seed++ { // some of their queries raise errors
		if err := c.Round(ctx, seed, func() bool { return false }); err != nil {
			t.Fatal(err)
		}
	}
	r := c.Report
	for _, d := range r.Cases {
		t.Errorf("seed %d, query %d: %s\n%s;\n%s", d.Seed, d.Query, d.Difference, d.Settings, d.SQL)
	}
	t.Logf("%d queries, %d offloaded, %d filtered by keys, %d over kept columns, %d errors, %d rows", r.Queries, r.Offloaded, r.Filtered, r.Kept, r.Errors, r.Rows)
	// About seven tenths are offloaded; so few queries vary around that.
	if r.Queries < 170 || r.Offloaded*10 < r.Queries*6 || r.Filtered == 0 || r.Kept == 0 || r.Errors == 0 {
		t.Errorf("of 180 queries, %d were compared, %d offloaded, %d filtered by keys, %d over kept columns, and %d raised an error",
			r.Queries, r.Offloaded, r.Filtered, r.Kept, r.Errors)
	}
}
