package fault

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"gpujoin/tests/harness"
	"gpujoin/tests/harness/point"
)

// as opens a session of an ordinary role.
func (r *tightDaemon) as(t *testing.T, role string, settings ...string) *harness.Session {
	t.Helper()
	return r.session(t, append([]string{"set session authorization " + role}, settings...)...)
}

// roles creates roles that may read the tables; the test drops them at its end.
func (w *world) roles(t *testing.T, names ...string) {
	t.Helper()
	list := strings.Join(names, ", ")
	for _, name := range names {
		exec(t, w.Witness, "create role "+name)
	}
	exec(t, w.Witness, "grant select on fact, dim, tiny to "+list)
	t.Cleanup(func() { exec(t, w.Witness, "drop owned by "+list+"; drop role "+list) })
}

// cursors opens n cursors of a query and reads one row of each.
func cursors(t *testing.T, s *harness.Session, name, sql string, n int) {
	t.Helper()
	for i := range n {
		exec(t, s, fmt.Sprintf("declare %s%d no scroll cursor for %s; fetch 1 from %[1]s%[2]d", name, i, sql))
	}
}

// fallbackOf runs a query with one join and returns why the daemon did not run it.
func fallbackOf(t *testing.T, s *harness.Session, sql string) string {
	t.Helper()
	ctx, cancel := bounded()
	defer cancel()
	plan, err := s.Explain(ctx, "analyze, timing off", sql)
	if err != nil {
		t.Fatal(err)
	}
	joins := plan.OffloadJoins()
	if len(joins) != 1 {
		t.Fatalf("%d joins in the plan of %s", len(joins), sql)
	}
	return joins[0].Text("Fallback")
}

// One role leaves as many cursors open as it can, in three sessions. Other roles'
// joins are offloaded at once meanwhile, and so are those of a fourth session of
// the role if the others leave some of its share.
func TestIdleCursorsOfOneRole(t *testing.T) {
	point.Point{What: "80 idle cursors in each of three sessions of a role", Process: oneBackend, Moment: "mid result", Shape: "cursors over joins", Expect: "other roles are offloaded at once"}.Announce(t)
	r := newTightDaemon(t, 16)
	r.roles(t, "mallory", "alice")
	large, small := theJoin, theJoin+" where f.id <= 100"
	hold := func() *harness.Session {
		s := r.as(t, "mallory", "set gpujoin.queue_timeout = 0", "begin")
		cursors(t, s, "large", large, 60)
		cursors(t, s, "small", small, 20)
		return s
	}
	first := hold()
	report := reportOf(t, r.session(t))
	if len(report.Jobs) < 2 || report.Reserved > report.Budget/4 {
		t.Errorf("one session reserves %d of %d bytes by %d jobs", report.Reserved, report.Budget, len(report.Jobs))
	}
	if f := fallbackOf(t, r.as(t, "mallory", "set gpujoin.queue_timeout = 0"), theSum); f != "" {
		t.Errorf("another session of the role runs natively: %s", f)
	}
	if f := fallbackOf(t, first, theSum); !strings.Contains(f, "backend may reserve") {
		t.Errorf("a further join of the session: Fallback %q", f)
	}
	others := []*harness.Session{hold(), hold()}
	report = reportOf(t, r.session(t))
	if report.Reserved > report.Budget/2 || report.Reserved < report.Budget/3 {
		t.Errorf("a role reserves %d of %d bytes by %d jobs", report.Reserved, report.Budget, len(report.Jobs))
	}
	for _, timeout := range []string{"0", "2s"} {
		s := r.as(t, "alice", "set gpujoin.queue_timeout = '"+timeout+"'")
		for _, sql := range []string{theSum, theJoin} {
			if f := fallbackOf(t, s, sql); f != "" {
				t.Errorf("another role's join runs natively: %s", f)
			}
		}
	}
	if f := fallbackOf(t, r.as(t, "mallory", "set gpujoin.queue_timeout = '50ms'"), theSum); !strings.Contains(f, "role may reserve") {
		t.Errorf("a further join of the role: Fallback %q", f)
	}
	// A session that was refused does not ask for each further cursor.
	if n := query(t, r.session(t), "select (reasons ->> 'share')::int >= 5 from gpujoin.status()").Rows[0]; n != "t" {
		t.Error("the daemon does not count a refusal of each of five sessions")
	}
	for _, s := range append(others, first) {
		exec(t, s, "commit")
		_ = s.Close()
	}
	r.settles(t)
	r.unharmed(t, nil)
}

// Only superusers change a role's share, for example by ALTER ROLE. It applies
// to the session's user, whatever role the session sets. A superuser's share is
// the whole memory.
func TestRoleShare(t *testing.T) {
	r := newTightDaemon(t, 8)
	r.roles(t, "mallory", "alice")
	exec(t, r.Witness, "grant alice to mallory")
	s := r.as(t, "mallory")
	ended(t, s.Exec(context.Background(), "set gpujoin.role_share = 1"), "42501")
	for name, c := range map[string]struct {
		open []string
		most float64 // part of the budget
	}{
		"default":       {[]string{"set session authorization mallory"}, 0.25},
		"another role":  {[]string{"set session authorization mallory", "set role alice"}, 0.25},
		"one at a time": {[]string{"set gpujoin.role_share = 0", "set session authorization mallory"}, 0.15},
		"no limit":      {[]string{"set gpujoin.role_share = 1", "set session authorization mallory"}, 1},
		"superuser":     {nil, 1},
	} {
		t.Run(name, func(t *testing.T) {
			s := r.session(t, append(c.open, "set gpujoin.queue_timeout = 0", "begin")...)
			defer s.Close()
			cursors(t, s, "c", theJoin, 20)
			report := reportOf(t, r.session(t))
			if part := float64(report.Reserved) / float64(report.Budget); part > c.most || part < 0.8*c.most-0.1 {
				t.Errorf("%d jobs reserve %.2f of the memory instead of at most %.2f", len(report.Jobs), part, c.most)
			}
		})
	}
	_ = s.Close()
	r.settles(t)
	r.unharmed(t, nil)
}
