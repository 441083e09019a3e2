// Package scaleout tests queries that several servers execute together: joins that
// postgres_fdw sends to the servers of its tables, statements in the form in which Citus
// sends them to shards, and other libraries in the same servers.
package scaleout

import (
	"context"
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"gpujoin/tests/harness"
	"gpujoin/tests/harness/shards"
	"gpujoin/tests/harness/sqltest"
)

// orders of each of the two nodes.
const orders = 60000

// Schemas of the coordinator, by what its sessions on the nodes set.
var schemas = map[string]string{
	"whole":  "-c cursor_tuple_fraction=1",
	"tenth":  "-c cursor_tuple_fraction=0.1",
	"native": "-c gpujoin.enabled=off",
	"hasty":  "-c cursor_tuple_fraction=1 -c gpujoin.queue_timeout=1ms",
}

var (
	// The daemon's time counts little, so that plans do not depend on what else the machine does.
	settings = harness.Settings{"gpujoin.min_rows": "1000", "gpujoin.ns_cost": "0.0001", "gpujoin.keep": "off", "jit": "off"}
	daemon   = harness.DaemonOptions{"calibrate": "false", "extent-size": "1MB", "memory-budget": "128MB", "memory-warm": "16MB", "window": "2"}
	world    *shards.World
)

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	var err error
	if sqltest.Env, err = harness.Prepare(); err == nil {
		world, err = shards.Start(context.Background(), sqltest.Env, shards.Options{Nodes: 2, Orders: orders, Settings: settings, Daemon: daemon, Replica: true})
	}
	if err != nil {
		fmt.Println(err)
		return 1
	}
	for schema, options := range schemas {
		if err := world.Attach(context.Background(), schema, options); err != nil {
			fmt.Println(err)
			return 1
		}
	}
	code := m.Run()
	if err := world.Stop(); err != nil {
		fmt.Println(err)
		return 1
	}
	return code
}

// session opens a session of the coordinator that reads the tables of a schema.
func session(t *testing.T, schema string, settings ...string) *harness.Session {
	t.Helper()
	t.Cleanup(func() {
		if !t.Failed() {
			return
		}
		for _, n := range append(slices.Clone(world.Nodes), world.Coordinator) {
			t.Logf("a server's log ends:\n%s", n.Cluster.Server().LogTail(20))
		}
	})
	return sqltest.SessionIn(t, world.Coordinator.Cluster, "postgres", append([]string{"set search_path = " + schema + ", public"}, settings...)...)
}

// single returns the rows of a query over the coordinator's own copy of all rows.
func single(t *testing.T, sql string) *harness.Result {
	t.Helper()
	return sqltest.Query(t, world.Coordinator.Session, sql)
}

// jobs returns how many jobs the daemons of the nodes have admitted.
func jobs(t *testing.T) []int {
	t.Helper()
	ctx, cancel := sqltest.Bounded()
	defer cancel()
	n, err := world.Jobs(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// expect runs a query, whose rows must be those of another one over the copy, and which
// must run as this many jobs on each node and as none on the coordinator.
func expect(t *testing.T, s *harness.Session, sql, reference string, want ...int) {
	t.Helper()
	before, coordinator := jobs(t), coordinatorJobs(t)
	got := sqltest.Query(t, s, sql)
	after := jobs(t)
	if d := harness.SameRows(single(t, reference), got); d != "" {
		t.Errorf("%s: %s", sql, d)
	}
	for i := range want {
		if n := after[i] - before[i]; n != want[i] {
			t.Errorf("%s: %d jobs on node %d instead of %d", sql, n, i+1, want[i])
		}
	}
	if n := coordinatorJobs(t) - coordinator; n != 0 {
		t.Errorf("%s: %d jobs on the coordinator", sql, n)
	}
}

func coordinatorJobs(t *testing.T) int {
	t.Helper()
	ctx, cancel := sqltest.Bounded()
	defer cancel()
	n, err := world.Coordinator.Jobs(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// asyncScans counts the foreign scans of a plan that run at the same time.
func asyncScans(plan harness.Node) (n int) {
	plan.All(func(node harness.Node) bool {
		if node.Text("Node Type") == "Foreign Scan" && node.Text("Async Capable") == "true" {
			n++
		}
		return true
	})
	return n
}

// idle waits until the daemons of the nodes have no job.
func idle(t *testing.T) {
	t.Helper()
	for _, n := range world.Nodes {
		wait(t, "the daemon has no job", func() bool {
			return sqltest.Query(t, n.Session, "select count(*) from gpujoin.stat_jobs").Rows[0] == "0"
		})
	}
}

// wait waits until a condition holds.
func wait(t *testing.T, what string, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(sqltest.Patience); !condition(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not within %v: %s", sqltest.Patience, what)
		}
	}
}
