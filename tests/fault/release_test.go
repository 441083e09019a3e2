package fault

import (
	"testing"

	"gpujoin/tests/harness"
)

// A cursor's resources are released with it, however it ends, and before its
// transaction ends.
func TestCursorsGiveBack(t *testing.T) {
	w := theWorld(t)
	for _, c := range []struct{ name, before, after, state string }{
		{"close", "begin; declare c no scroll cursor for ", "close c", ""},
		{"commit", "begin; declare c no scroll cursor for ", "commit", ""},
		{"rollback to a savepoint", "begin; savepoint a; declare c no scroll cursor for ", "rollback to a", ""},
		{"error in its subtransaction", "begin; savepoint a; declare c no scroll cursor for ", "select 1/0", "22012"},
		{"error in its transaction", "begin; declare c no scroll cursor for ", "select 1/0", "22012"},
		{"commit of a holdable one", "begin; declare c cursor with hold for ", "commit", ""},
		{"read to its end", "begin; declare c no scroll cursor for ", "move forward all from c; close c", ""},
		{"terminate", "begin; declare c no scroll cursor for ", "select pg_terminate_backend(pg_backend_pid())", "57P01"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := w.proxied(t, serial, c.before+theJoin)
			if r := query(t, s, "fetch 10 from c"); len(r.Rows) != 10 {
				t.Fatalf("%d rows", len(r.Rows))
			}
			other := w.Session(t, forced)
			if n := len(reportOf(t, other).Jobs); n != 1 {
				t.Errorf("%d jobs under a cursor", n)
			}
			ended(t, (<-ask(s, c.after)).err, c.state)
			settled(t, other)
			if c.name != "terminate" {
				released(t, s)
			}
			if c.name == "commit of a holdable one" {
				rows, err := fetchAll(s, 10000)
				if err != nil || len(rows) != 40000-10 {
					t.Errorf("%d rows after commit, %v", len(rows), err)
				}
				w.partOf(t, theJoin, rows)
			}
		})
	}
	w.unharmed(t, nil)
}

// An error raised above a node, or below it while it is fed, ends its job at
// once, also if the transaction continues.
func TestErrorsGiveBack(t *testing.T) {
	w := theWorld(t)
	for _, workers := range []string{"0", "2"} {
		s := w.proxied(t, "set max_parallel_workers_per_gather = "+workers)
		other := w.Session(t, forced)
		exec(t, s, "begin; savepoint a")
		for _, sql := range []string{
			"select sum(1 / (d.v - 20000)) from fact f join dim d on f.k = d.k",                // above
			"select count(*) from fact f join dim d on f.k = d.k where 1 / (f.id - 20000) < 2", // in a fed child
		} {
			ended(t, (<-ask(s, sql)).err, "22012")
			settled(t, other)
			released(t, s)
			exec(t, s, "rollback to a")
		}
		exec(t, s, "commit")
	}
	w.unharmed(t, nil)
}

// Statements by the extended protocol.
func TestKillUnderExtendedProtocol(t *testing.T) {
	w := theWorld(t)
	for _, ph := range chosen("mid feed", "mid result") {
		s := w.proxied(t, serial)
		ctx, cancel := bounded()
		defer cancel()
		if _, err := s.Conn().Prepare(ctx, "p", theJoin, nil); err != nil {
			t.Fatal(err)
		}
		h := w.Proxy.HoldFrame(ph.msg, ph.nth)
		done := make(chan answer, 1)
		go func() {
			r := s.Conn().ExecPrepared(ctx, "p", nil, nil, nil).Read()
			done <- answer{&harness.Result{Rows: make([]string, len(r.Rows))}, r.Err}
		}()
		reached(t, h, done)
		if err := w.Daemon.Kill(); err != nil {
			t.Fatal(err)
		}
		h.Release()
		if a := <-done; ph.serial == anError {
			lost(t, a.err)
		} else if a.err != nil || len(a.Rows) != 40000 {
			t.Errorf("%d rows, %v", len(a.Rows), a.err)
		}
		w.unharmed(t, s)
	}
}
