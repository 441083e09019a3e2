package scaleout

import (
	"context"
	"fmt"
	"testing"

	"gpujoin/tests/harness"
	"gpujoin/tests/harness/shards"
	"gpujoin/tests/harness/sqltest"
)

// rows is a query whose rows one node returns through a cursor.
const rows = "select o_key, o_priority, o_price, l_flag, l_price from orders_1 join lineitem_1 on o_key = l_order"

// A cursor that the coordinator has not read to its end keeps a job open on the node, until
// it is closed.
func TestOpenCursor(t *testing.T) {
	open := func() string {
		return sqltest.Query(t, world.Nodes[0].Session, "select count(*) from gpujoin.stat_jobs").Rows[0]
	}
	s := session(t, "whole")
	for _, end := range []string{"close c", "commit"} {
		sqltest.Exec(t, s, "begin; declare c cursor for "+rows+"; fetch 1 from c")
		if n := open(); n != "1" {
			t.Errorf("%s jobs of an open cursor", n)
		}
		sqltest.Exec(t, s, end)
		idle(t)
		sqltest.Exec(t, s, "rollback")
	}
}

// More open cursors than the node's daemon has memory for: some run natively, and all have
// their rows.
func TestManyOpenCursors(t *testing.T) {
	const cursors = 24
	s := session(t, "hasty")
	before := jobs(t)[0]
	sqltest.Exec(t, s, "begin")
	for i := range cursors {
		name := fmt.Sprintf("c%d", i)
		sqltest.Exec(t, s, "declare "+name+" cursor for "+rows+" where o_key <> "+fmt.Sprint(-i))
		if got := sqltest.Query(t, s, "fetch 1 from "+name); len(got.Rows) != 1 {
			t.Fatalf("cursor %d: %q", i, got.Rows)
		}
	}
	if n := jobs(t)[0] - before; n < 1 || n >= cursors {
		t.Errorf("%d of %d cursors are offloaded", n, cursors)
	}
	memory := sqltest.Query(t, world.Nodes[0].Session, "select reserved <= budget, reserved > 0 from gpujoin.stat_daemon").Rows[0]
	if memory != "t\tt" {
		t.Errorf("reserved within the budget, and more than nothing: %s", memory)
	}
	for _, i := range []int{0, cursors - 1} {
		if got := sqltest.Query(t, s, fmt.Sprintf("move all in c%d", i)); got.Tag != fmt.Sprintf("MOVE %d", 3*orders-1) {
			t.Errorf("cursor %d: %s", i, got.Tag)
		}
	}
	sqltest.Exec(t, s, "commit")
	idle(t)
}

// A node whose daemon has ended executes the query natively. If the daemon ends while a
// cursor is read, the coordinator gets the node's error, and the statement can be repeated.
func TestDaemonEnds(t *testing.T) {
	n := world.Nodes[0]
	s := session(t, "whole")
	sqltest.Exec(t, s, "begin; declare c cursor for "+rows+"; fetch 1 from c")
	if err := n.Daemon.Kill(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := sqltest.Bounded()
	defer cancel()
	if _, err := s.Query(ctx, "move all in c"); harness.SQLState(err) != "08006" {
		t.Errorf("the daemon ended while rows were returned: %v", err)
	}
	sqltest.Exec(t, s, "rollback")

	want := single(t, shards.ByKey)
	if d := harness.SameRows(want, sqltest.Query(t, s, shards.ByKey)); d != "" {
		t.Errorf("without a daemon: %s", d)
	}
	if _, err := n.Revive(context.Background(), n.Session); err != nil {
		t.Fatal(err)
	}
	// New sessions on the nodes: those from before wait before they ask again.
	expect(t, session(t, "whole"), shards.ByKey, shards.ByKey, 1, 1)
}

// A statement that is cancelled on the coordinator ends on the nodes, too.
func TestCancel(t *testing.T) {
	s := session(t, "whole")
	failed := make(chan error, 1)
	go func() {
		ctx, cancel := sqltest.Bounded()
		defer cancel()
		failed <- s.Exec(ctx, "select pg_sleep(0.01), part.* from ("+rows+") part")
	}()
	wait(t, "a job", func() bool {
		return sqltest.Query(t, world.Nodes[0].Session, "select count(*) from gpujoin.stat_jobs where phase = 'return'").Rows[0] == "1"
	})
	sqltest.Exec(t, world.Coordinator.Session, fmt.Sprintf("select pg_cancel_backend(%d)", s.PID()))
	if err := <-failed; harness.SQLState(err) != "57014" {
		t.Errorf("cancelled: %v", err)
	}
	idle(t)
	const active = "select query from pg_stat_activity where state = 'active' and application_name = 'postgres_fdw'"
	for _, n := range world.Nodes {
		wait(t, "the node is idle", func() bool { return len(sqltest.Query(t, n.Session, active).Rows) == 0 })
	}
	expect(t, s, shards.ByKey, shards.ByKey, 1, 1)
}
