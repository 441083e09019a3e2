package fault

import (
	"strings"
	"testing"

	"gpujoin/tests/harness"
)

// opens returns the number of jobs that a statement opens.
func (w *world) opens(t *testing.T, s *harness.Session, sql string) int {
	t.Helper()
	opens := 0
	w.Proxy.Rewrite(func(f *harness.Frame) ([]*harness.Frame, bool) {
		if f.Type == harness.MsgOpen {
			opens++
		}
		return []*harness.Frame{f}, true
	})
	w.right(t, sql, <-ask(s, sql))
	w.Proxy.Rewrite(nil)
	return opens
}

// Keys may take up to a quarter of an extent (1 MB here). A longer one makes
// the join native for good: a rescan feeds nothing again.
func TestLongKeys(t *testing.T) {
	w := theWorld(t)
	const setup = `set search_path = keys, public`
	exec(t, w.Witness, `
		create schema keys; `+setup+`;
		create table a (k text, n int8); create table b (k text, n int8);
		alter table a alter k set storage external; alter table b alter k set storage external;
		insert into a select rpad(n::text, 100000, 'x'), n from generate_series(1, 20) n;
		insert into b select rpad(n::text, 100000, 'x'), n from generate_series(11, 40) n;
		analyze a, b`)
	defer exec(t, w.Witness, "drop schema keys cascade; reset search_path")
	for _, feed := range []string{"0", "1e9"} {
		s := w.proxied(t, serial, setup, "set gpujoin.page_row_cost = "+feed, "set enable_material = off; set enable_memoize = off")
		const sql = "select a.n, b.n, md5(b.k) from a join b on a.k = b.k"
		const repeated = "select count(*), sum(x.n) from generate_series(1, 5) g left join (select a.n from a join b on a.k = b.k offset 0) x on x.n >= g"
		plan, err := s.Explain(t.Context(), "analyze, timing off", sql)
		if err != nil || plan.OffloadedJoins() != 1 {
			t.Errorf("keys of 100 kB: %v, %v", plan.OffloadJoins(), err)
		}
		delete(w.Native, sql)
		w.right(t, sql, <-ask(s, sql))

		exec(t, w.Witness, "insert into b values (repeat('y', 200000), 41)")
		delete(w.Native, sql)
		delete(w.Native, repeated)
		plan, err = s.Explain(t.Context(), "analyze, timing off", sql)
		if err != nil || plan.OffloadedJoins() != 0 {
			t.Fatalf("a key of 200 kB: %v, %v", plan.OffloadJoins(), err)
		}
		if reason := plan.OffloadJoins()[0].Text("Fallback"); !strings.Contains(reason, "key value of 200000 bytes exceeds the maximum") {
			t.Errorf("the reason is %q", reason)
		}
		if n := w.opens(t, s, sql); n != 1 {
			t.Errorf("%d jobs for one scan", n)
		}
		if n := w.opens(t, s, repeated); n != 1 {
			t.Errorf("%d jobs for a join that is scanned again and again", n)
		}
		exec(t, w.Witness, "delete from b where n = 41")
		s.Close()
	}
	w.unharmed(t, nil)
}

// A batch has keys of char(n) without their padding, so only the rest must fit,
// even if the batch was laid out for much shorter keys.
func TestPaddedKeys(t *testing.T) {
	w := theWorld(t)
	const setup = `set search_path = padded, public`
	exec(t, w.Witness, `
		create schema padded; `+setup+`;
		create table a (k char(200000), v text); create table b (k char(200000));
		alter table a alter k set storage external, alter v set storage plain;
		alter table b alter k set storage external;
		insert into a select rpad(n::text, 100000, 'x'), repeat('v', 1000) from generate_series(1, 5) n;
		insert into b select rpad(n::text, 100000, 'x') from generate_series(3, 9) n;
		analyze a, b`)
	defer exec(t, w.Witness, "drop schema padded cascade; reset search_path")
	const sql = "select length(a.v), md5(a.k) from a join b on a.k = b.k"
	for _, feed := range []string{"0", "1e9"} {
		s := w.proxied(t, serial, setup, "set gpujoin.page_row_cost = "+feed)
		plan, err := s.Explain(t.Context(), "analyze, timing off", sql)
		if err != nil || plan.OffloadedJoins() != 1 {
			t.Errorf("keys of 100 kB and as many blanks: %v, %v", plan.OffloadJoins(), err)
		}
		w.right(t, sql, <-ask(s, sql))
		s.Close()
	}
	delete(w.Native, sql)
	w.unharmed(t, nil)
}
