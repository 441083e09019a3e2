package fault

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"gpujoin/tests/harness"
	"gpujoin/tests/harness/point"
)

// fetchAll fetches from the cursor c to its end, or to an error.
func fetchAll(s *harness.Session, portion int) (rows []string, err error) {
	ctx, cancel := bounded()
	defer cancel()
	for {
		r, err := s.Query(ctx, fmt.Sprintf("fetch %d from c", portion))
		if err != nil {
			return rows, err
		}
		if rows = append(rows, r.Rows...); len(r.Rows) == 0 {
			return rows, nil
		}
	}
}

// partOf checks that rows are a subset of a query's.
func (w *world) partOf(t *testing.T, sql string, rows []string) {
	t.Helper()
	left := map[string]int{}
	for _, row := range w.Expect(t, sql).Rows {
		left[row]++
	}
	for _, row := range rows {
		if left[row]--; left[row] < 0 {
			t.Errorf("a row that the join does not have, or too often: %s", row)
			return
		}
	}
}

// The daemon is killed between two FETCHes of a cursor.
func TestKillUnderCursor(t *testing.T) {
	w := theWorld(t)
	for _, c := range []struct {
		name    string
		fetched int // rows fetched before
		next    string
		state   string
	}{
		{"before the first row", 0, "fetch 10 from c", ""},
		{"between rows", 100, "fetch all from c", "08006"},
		{"close", 100, "close c", ""},
		{"commit", 100, "commit", ""},
		{"rollback", 100, "rollback", ""},
		{"another query", 100, theSum, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			expect := point.AllRows
			if c.state != "" {
				expect = point.Lost
			}
			point.Point{What: "killed", Process: daemon, Moment: c.name, Shape: "cursor over a join", Expect: expect}.Announce(t)
			s := w.proxied(t, serial, "begin; declare c no scroll cursor for "+theJoin)
			if c.fetched > 0 {
				got := query(t, s, fmt.Sprintf("fetch %d from c", c.fetched))
				if len(got.Rows) != c.fetched {
					t.Fatalf("%d rows instead of %d", len(got.Rows), c.fetched)
				}
				w.partOf(t, theJoin, got.Rows)
			}
			if err := w.Daemon.Kill(); err != nil {
				t.Fatal(err)
			}
			a := <-ask(s, c.next)
			switch {
			case c.state != "":
				lost(t, a.err)
			case a.err != nil:
				t.Errorf("%s: %v", c.next, a.err)
			case c.next == theSum:
				w.right(t, theSum, a)
			}
			if c.fetched == 0 {
				rest, err := fetchAll(s, 1000)
				if err != nil {
					t.Fatal(err)
				}
				a.Rows = append(a.Rows, rest...)
				w.right(t, theJoin, a)
			}
			exec(t, s, "rollback")
			w.unharmed(t, s)
		})
	}
}

// A holdable cursor is materialised at commit: the commit fails, or the cursor
// has all rows.
func TestKillUnderHoldableCursor(t *testing.T) {
	w := theWorld(t)
	for _, ph := range phases {
		if !slices.Contains([]string{"mid feed", "mid result"}, ph.name) {
			continue
		}
		t.Run(ph.name, func(t *testing.T) {
			s := w.proxied(t, serial, "begin; declare c cursor with hold for "+theJoin)
			h := w.Proxy.HoldFrame(ph.msg, ph.nth)
			done := ask(s, "commit")
			reached(t, h, done)
			if err := w.Daemon.Kill(); err != nil {
				t.Fatal(err)
			}
			h.Release()
			a := <-done
			if ph.serial == rightRows {
				if a.err != nil {
					t.Fatal(a.err)
				}
				rows, err := fetchAll(s, 10000)
				w.right(t, theJoin, answer{&harness.Result{Rows: rows}, err})
				exec(t, s, "close c")
			} else {
				lost(t, a.err)
			}
			w.unharmed(t, s)
		})
	}
}

// A node stops early, when the daemon is dead or stopped.
func TestKillUnderLimit(t *testing.T) {
	w := theWorld(t)
	for _, workers := range []int{0, 2} {
		s := w.proxied(t, fmt.Sprintf("set max_parallel_workers_per_gather = %d", workers))
		for range 3 {
			exec(t, s, "begin; declare c no scroll cursor for "+theJoin+" limit 50")
			r := query(t, s, "fetch 50 from c")
			if len(r.Rows) != 50 {
				t.Fatalf("%d rows instead of 50", len(r.Rows))
			}
			w.partOf(t, theJoin, r.Rows)
			if err := w.Daemon.Kill(); err != nil {
				t.Fatal(err)
			}
			if r = query(t, s, "fetch all from c"); len(r.Rows) != 0 {
				t.Errorf("%d rows beyond the limit", len(r.Rows))
			}
			exec(t, s, "commit")
			w.unharmed(t, s)
		}
	}
}

// PL/pgSQL catches a failing query, which rolls a subtransaction back, and continues.
func TestKillInSubtransaction(t *testing.T) {
	w := theWorld(t)
	s := w.proxied(t, serial, `create or replace function caught(text) returns text language plpgsql as $$
		declare r record; n int8 := 0; state text; hint text;
		begin
			begin
				for r in execute $1 loop n := n + 1; end loop;
				return 'all ' || n;
			exception when connection_failure then
				get stacked diagnostics state = returned_sqlstate, hint = pg_exception_hint;
				return state || (hint <> '')::text;
			end;
		end $$`)
	for _, ph := range phases {
		t.Run(ph.name, func(t *testing.T) {
			point.Point{What: "killed", Process: daemon, Moment: ph.name, Shape: "join in a subtransaction", Expect: ph.serial.String() + "; the transaction goes on"}.Announce(t)
			exec(t, s, "begin; savepoint a")
			h := w.Proxy.HoldFrame(ph.msg, ph.nth)
			done := ask(s, "select caught($q$"+theJoin+"$q$)")
			reached(t, h, done)
			if err := w.Daemon.Kill(); err != nil {
				t.Fatal(err)
			}
			h.Release()
			a := <-done
			if a.err != nil {
				t.Fatal(a.err)
			}
			got := a.Rows[0]
			if all := "all 40000"; got != all && (got != "08006true" || ph.serial == rightRows) ||
				got == all && ph.serial == anError {
				t.Errorf("the function returned %q", got)
			}
			released(t, s) // while the transaction is still open
			w.right(t, theSum, <-ask(s, theSum))
			exec(t, s, "rollback to a")
			w.right(t, theSum, <-ask(s, theSum))
			exec(t, s, "commit")
			w.unharmed(t, s)
		})
	}
	exec(t, s, "drop function caught")
}

// A node is rescanned repeatedly: the daemon is killed between two scans or during one.
func TestKillUnderRescan(t *testing.T) {
	w := theWorld(t)
	const sql = "select t.g, (select count(*) from fact f join dim d on f.k = d.k where f.g <= t.g) from tiny t"
	for _, way := range []struct {
		name, settings, sql string
	}{
		{"with a parameter", "", sql},
		{"without", "set enable_hashjoin = off; set enable_mergejoin = off; set enable_material = off",
			"select t.g, f.id from tiny t join (select f.g, f.id from fact f join dim d on f.k = d.k where d.v < 200 offset 0) f on f.g < t.g"},
	} {
		for _, frame := range []struct{ msg, nth int }{
			{harness.MsgRun, 3}, {harness.MsgRunning, 4}, {harness.MsgResult, 5},
		} {
			t.Run(fmt.Sprintf("%s, frame %d of type %d", way.name, frame.nth, frame.msg), func(t *testing.T) {
				point.Point{What: "killed", Process: daemon, Moment: fmt.Sprintf("frame %d of type %d", frame.nth, frame.msg), Shape: "rescanned join, " + way.name, Expect: point.LostOr}.Announce(t)
				s := w.proxied(t, serial, way.settings)
				h := w.Proxy.HoldFrame(frame.msg, frame.nth)
				done := ask(s, way.sql)
				reached(t, h, done)
				if err := w.Daemon.Kill(); err != nil {
					t.Fatal(err)
				}
				h.Release()
				w.check(t, either, way.sql, <-done)
				w.unharmed(t, s)
			})
		}
	}
}

// One of two jobs in a statement is hit.
func TestKillOneOfTwoJobs(t *testing.T) {
	w := theWorld(t)
	const sql = "select a.n, b.n from (select count(*) as n from fact f join dim d on f.k = d.k) a, " +
		"(select count(*) as n, max(t.name) from fact f join tiny t on f.g = t.g) b"
	for nth := 1; nth <= 2; nth++ {
		for _, cut := range []bool{false, true} {
			s := w.proxied(t, serial)
			h := w.Proxy.HoldFrame(harness.MsgRunning, nth)
			done := ask(s, sql)
			reached(t, h, done)
			if cut {
				h.Cut()
			} else {
				if err := w.Daemon.Kill(); err != nil {
					t.Fatal(err)
				}
				h.Release()
			}
			w.right(t, sql, <-done) // because neither had returned a row
			w.unharmed(t, s)
		}
	}
}

// Long values are in separate extents, which are fetched one by one.
func TestKillWithLongValues(t *testing.T) {
	w := theWorld(t)
	const sql = "select b.k, md5(b.value), d.v from big b join dim d on b.k = d.k"
	w.right(t, sql, <-ask(w.proxied(t, serial), sql))
	for _, frame := range []struct {
		msg, nth int
		e        end
	}{
		{harness.MsgChainFilled, 2, rightRows},
		{harness.MsgChainGet, 1, rightRows},
		{harness.MsgChainExtent, 1, either},
		{harness.MsgChainGet, 2, either},
	} {
		t.Run(fmt.Sprintf("frame %d of type %d", frame.nth, frame.msg), func(t *testing.T) {
			point.Point{What: "killed", Process: daemon, Moment: fmt.Sprintf("frame %d of type %d", frame.nth, frame.msg), Shape: "join with long values", Expect: frame.e.String()}.Announce(t)
			s := w.proxied(t, serial)
			h := w.Proxy.HoldFrame(frame.msg, frame.nth)
			done := ask(s, sql)
			reached(t, h, done)
			if err := w.Daemon.Kill(); err != nil {
				t.Fatal(err)
			}
			h.Release()
			w.check(t, frame.e, sql, <-done)
			w.unharmed(t, s)
		})
	}
}

// gpujoin.verify runs both plans: if the daemon dies in between, the result is
// still the native rows.
func TestKillUnderVerify(t *testing.T) {
	w := theWorld(t)
	for _, ph := range phases {
		if !strings.HasPrefix(ph.name, "mid") {
			continue
		}
		s := w.proxied(t, serial, "set gpujoin.verify = on")
		h := w.Proxy.HoldFrame(ph.msg, ph.nth)
		done := ask(s, theJoin)
		reached(t, h, done)
		if err := w.Daemon.Kill(); err != nil {
			t.Fatal(err)
		}
		h.Release()
		if a := <-done; ph.serial == rightRows {
			w.right(t, theJoin, a)
		} else {
			ended(t, a.err, "08006")
		}
		w.unharmed(t, s)
	}
}
