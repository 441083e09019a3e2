package harness

import (
	"context"
	"maps"
	"path/filepath"
	"strings"
	"testing"
)

func TestSameRows(t *testing.T) {
	want := &Result{Rows: []string{"a", "b", "b"}}
	for _, c := range []struct {
		rows []string
		same bool
	}{
		{[]string{"b", "a", "b"}, true},
		{[]string{"a", "b"}, false},
		{[]string{"a", "a", "b"}, false},
		{[]string{"a", "b", "b", "b"}, false},
		{nil, false},
	} {
		if d := SameRows(want, &Result{Rows: c.rows}); (d == "") != c.same {
			t.Errorf("SameRows(%q): %q", c.rows, d)
		}
	}
}

func TestOffloadedJoins(t *testing.T) {
	executed := map[string]any{"Algorithm": "npj"}
	planned := map[string]any{}
	gpu := func(fallback any, joins ...any) map[string]any {
		return map[string]any{"Custom Plan Provider": "OffloadJoin", "Fallback": fallback, "Joins": joins}
	}
	plan := Node{"Plans": []any{
		gpu(nil, executed, executed),
		map[string]any{"Plans": []any{gpu("no daemon", executed), gpu(nil, planned)}},
	}}
	if n := plan.OffloadedJoins(); n != 2 {
		t.Errorf("%d offloaded joins instead of 2", n)
	}
	if n := len(plan.OffloadJoins()); n != 3 {
		t.Errorf("%d OffloadJoins instead of 3", n)
	}
}

func TestOffloadedBlocks(t *testing.T) {
	node := func(provider string, properties map[string]any, children ...any) map[string]any {
		n := map[string]any{"Custom Plan Provider": provider, "Plans": children}
		maps.Copy(n, properties)
		return n
	}
	one := []any{map[string]any{"Alias": "t"}}
	executed := map[string]any{"Inputs": one, "Provider": "cpu"}
	scan := map[string]any{"Node Type": "Seq Scan"}
	inner := node("OffloadBlock", executed, scan, node("OffloadBlock", executed, scan))
	plan := Node{"Plans": []any{
		node("OffloadBlock", nil,
			map[string]any{"Node Type": "Gather", "Plans": []any{node("OffloadFeed", executed, inner)}},
			node("OffloadBlock", executed, scan)), // in a native plan
		node("OffloadBlock", map[string]any{"Inputs": one, "Provider": "cpu", "Fallback": "no daemon"}, scan),
	}}
	if n := plan.OffloadedBlocks(); n != 2 {
		t.Errorf("%d offloaded blocks instead of 2", n)
	}
	if n := len(plan.Jobs()); n != 3 {
		t.Errorf("%d jobs instead of 3", n)
	}
}

// A cluster uses the private installation, runs as an unprivileged user, and
// leaves neither processes nor files.
func TestCluster(t *testing.T) {
	env, err := Prepare()
	if err != nil {
		t.Fatal(err)
	}
	c, err := env.NewCluster("", Settings{"shared_buffers": "16MB"})
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	s, err := c.Connect(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Exec(ctx, "create extension gpujoin"); err != nil {
		t.Error(err)
	}
	config, err := s.One(ctx, "select setting from pg_config where name = 'SHAREDIR'")
	if err != nil || !strings.HasPrefix(config, env.Work) {
		t.Errorf("share directory %q, %v", config, err)
	}
	r, err := s.Query(ctx, `select 1, null, E'a\tb'`)
	if err != nil || len(r.Rows) != 1 || r.Rows[0] != `1	\N	a\tb` {
		t.Errorf("%+v, %v", r, err)
	}
	if _, err := s.Query(ctx, "select 1/0"); SQLState(err) != "22012" {
		t.Errorf("SQLSTATE %q of %v", SQLState(err), err)
	}
	if h, err := HoldingsOf(s.PID()); err != nil || h.FDs == 0 {
		t.Errorf("holdings %+v, %v", h, err)
	}
	if err := c.Stop(); err != nil {
		t.Error(err)
	}
	if !c.Server().Exited() || fileExists(c.Dir) || fileExists(filepath.Join(c.Sock, ".s.PGSQL.5432")) {
		t.Error("the cluster left something")
	}
}
