package fault

import (
	"slices"
	"testing"

	"github.com/jackc/pgx/v5/pgproto3"

	"gpujoin/tests/harness"
)

// gathers returns the Gather nodes of a plan.
func gathers(n harness.Node) (found []harness.Node) {
	n.All(func(c harness.Node) bool {
		if c.Text("Node Type") == "Gather" {
			found = append(found, c)
		}
		return true
	})
	return found
}

// A join that switches to its native plan while it is fed releases the parallel
// workers of its inputs, so that the native plan gets them even if there are no
// others.
func TestInputsGiveBackTheirWorkers(t *testing.T) {
	w := theWorld(t)
	s := w.proxied(t, "set max_parallel_workers_per_gather = 2; set max_parallel_workers = 2",
		"set gpujoin.verify = on") // so that the join itself is serial
	// The page feed cannot test tableoid, so a parallel scan feeds fact.
	const sql = "select f.id, f.note, d.v from fact f join dim d on f.k = d.k where f.tableoid <> 0 and f.note <> 'fact'"
	h := w.Proxy.HoldFrame(harness.MsgFilled, 1)
	type planned struct {
		harness.Node
		err error
	}
	done := make(chan planned, 1)
	go func() {
		ctx, cancel := bounded()
		defer cancel()
		plan, err := s.Explain(ctx, "analyze, timing off", sql)
		done <- planned{plan, err}
	}()
	select {
	case <-h.Reached:
		h.Cut()
	case p := <-done:
		t.Fatalf("the join was not fed: %v, %v", p.Node, p.err)
	}
	plan := <-done
	if plan.err != nil {
		t.Fatal(plan.err)
	}
	joins := plan.OffloadJoins()
	if len(joins) != 1 || joins[0].Text("Fallback") == "" {
		t.Fatalf("no OffloadJoin that fell back: %v", plan.Node)
	}
	children := joins[0].Children()
	feeds, native := children[:len(children)-1], children[len(children)-1]
	fed := 0
	for _, f := range feeds {
		fed += len(gathers(f))
	}
	found := gathers(native)
	if fed == 0 || len(found) == 0 {
		t.Fatalf("no Gather in the feeds or none in the native plan: %v", joins[0])
	}
	launched := 0.0
	for _, g := range found {
		launched = max(launched, g.Number("Workers Launched"))
	}
	if launched != 2 {
		t.Errorf("the native plan got %v workers of 2: %v", launched, native)
	}
	w.right(t, sql, <-ask(s, sql))
	w.unharmed(t, s)
}

// Rows of a kept parallel plan are verified, too, once the session enables that.
func TestVerifyOfKeptPlans(t *testing.T) {
	w := theWorld(t)
	s := w.Session(t, forced, "set max_parallel_workers_per_gather = 2; set plan_cache_mode = force_generic_plan",
		"prepare p as "+theSum)
	for range 2 {
		for _, verify := range []bool{false, true} {
			setting := "set gpujoin.verify = off"
			if verify {
				setting = "set gpujoin.verify = on"
			}
			exec(t, s, setting)
			w.right(t, theSum, <-ask(s, "execute p"))
			ctx, cancel := bounded()
			plan, err := s.Explain(ctx, "analyze, timing off", "execute p")
			cancel()
			if err != nil {
				t.Fatal(err)
			}
			j := plan.OffloadJoins()
			if len(j) != 1 {
				t.Fatalf("%d OffloadJoins", len(j))
			}
			children := j[0].Children()
			// The native plan was executed if it has loops.
			if ran := children[len(children)-1].Number("Actual Loops") > 0; ran != verify {
				t.Errorf("verify is %v, the native plan ran: %v", verify, ran)
			}
		}
	}
	w.unharmed(t, s)
}

// A portal keeps the plan that it was bound with. If that is parallel and
// verification is enabled afterwards, a warning says that nothing is verified.
func TestVerifyOfBoundPortal(t *testing.T) {
	w := theWorld(t)
	s := w.Session(t, forced, "set max_parallel_workers_per_gather = 2", "begin")
	fe := s.Conn().Frontend()
	// notices sends the queued messages and returns the warnings of the answer.
	notices := func() (found []string) {
		t.Helper()
		fe.SendSync(&pgproto3.Sync{})
		if err := fe.Flush(); err != nil {
			t.Fatal(err)
		}
		for {
			m, err := fe.Receive()
			if err != nil {
				t.Fatal(err)
			}
			switch m := m.(type) {
			case *pgproto3.ErrorResponse:
				t.Fatal(m.Message)
			case *pgproto3.NoticeResponse:
				found = append(found, m.Severity+": "+m.Message)
			case *pgproto3.ReadyForQuery:
				return found
			}
		}
	}
	fe.SendParse(&pgproto3.Parse{Query: theSum})
	fe.SendBind(&pgproto3.Bind{DestinationPortal: "p"})
	notices()
	exec(t, s, "set gpujoin.verify = on")
	fe.SendExecute(&pgproto3.Execute{Portal: "p"})
	want := []string{"WARNING: rows of a parallel join are not verified"}
	if got := notices(); !slices.Equal(got, want) {
		t.Errorf("%q instead of %q", got, want)
	}
	exec(t, s, "commit")
	w.unharmed(t, s)
}

// EXPLAIN ANALYZE requests a report each time a portion of a cursor has been
// fetched. A late report is skipped, and the cursor continues.
func TestLateReport(t *testing.T) {
	w := theWorld(t)
	for _, portions := range []int{1, 5} {
		s := w.Session(t, forced, serial, explained, "set gpujoin.connect_timeout = '100ms'")
		exec(t, s, "begin; declare c no scroll cursor for "+theJoin)
		got := query(t, s, "fetch 10 from c").Rows
		goOn := w.stopped(t)
		for range portions {
			a := soon(t, ask(s, "fetch 10 from c"))
			if a.err != nil {
				t.Fatal(a.err)
			}
			got = append(got, a.Rows...)
		}
		goOn()
		rest, err := fetchAll(s, 5000)
		if err != nil {
			t.Fatal(err)
		}
		if all := append(got, rest...); len(all) != 40000 {
			t.Errorf("%d rows", len(all))
		}
		w.partOf(t, theJoin, got)
		exec(t, s, "commit")
		w.unharmed(t, s)
	}
}
