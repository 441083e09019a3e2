package scaleout

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"gpujoin/tests/harness"
	"gpujoin/tests/harness/shards"
	"gpujoin/tests/harness/sqltest"
)

const (
	firstShard = 102008
	pairs      = 32 // of shards
	pairOrders = 4000
	sessions   = 16
)

// Statements in the form in which Citus sends them to nodes: tables are shards, whose names
// have a number, and operators and functions are qualified.
const (
	partialAggregate = `SELECT orders.o_priority AS column_1, lineitem.l_flag AS column_2, pg_catalog.count(*) AS count, pg_catalog.sum(lineitem.l_price) AS sum
		FROM (%s JOIN %s ON ((orders.o_key OPERATOR(pg_catalog.=) lineitem.l_order))) WHERE true GROUP BY orders.o_priority, lineitem.l_flag ORDER BY 1, 2`
	withParameter = `SELECT orders.o_key, lineitem.l_line, lineitem.l_price FROM (%s JOIN %s ON ((orders.o_key OPERATOR(pg_catalog.=) lineitem.l_order)))
		WHERE ((orders.o_cust OPERATOR(pg_catalog.<) $1) AND (lineitem.l_price OPERATOR(pg_catalog.>=) 10.00)) ORDER BY orders.o_key, lineitem.l_line`
	withIntermediate = `SELECT shipped.nation, pg_catalog.count(*) AS count, pg_catalog.sum(orders.o_price) AS sum
		FROM (public.orders_%d orders JOIN (SELECT intermediate.key, intermediate.nation
				FROM public.read_shipped('1_1'::text) intermediate(key bigint, nation bigint)) shipped
			ON ((orders.o_cust OPERATOR(pg_catalog.=) shipped.key))) WHERE true GROUP BY shipped.nation`
)

// onShards returns a statement over a pair of shards.
func onShards(sql string, pair int) string {
	return fmt.Sprintf(sql, fmt.Sprintf("public.orders_%d orders", firstShard+pair), fmt.Sprintf("public.lineitem_%d lineitem", firstShard+pair))
}

// readShipped makes a function that returns rows that were sent to the node before.
func readShipped(volatility string) string {
	return `create or replace function read_shipped(name text) returns setof record language plpgsql ` + volatility + ` rows 3000 as
		$$ begin return query execute pg_catalog.format('select c_key, c_nation from public.%I', name); end $$`
}

// shardWorld is a server with all shards, and the sessions of a test.
type shardWorld struct {
	*shards.Node
	offloaded, native *harness.Session
}

func startShards(t *testing.T) *shardWorld {
	t.Helper()
	pair, err := sqltest.Env.StartPair(settings, daemon)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the server's log ends:\n%s", pair.Cluster.Server().LogTail(30))
		}
		if err := pair.Stop(); err != nil {
			t.Error(err)
		}
	})
	var tables strings.Builder
	for i := range pairs {
		tables.WriteString(shards.Tables(fmt.Sprintf("_%d", firstShard+i), 1+i*pairOrders, (i+1)*pairOrders))
	}
	w := &shardWorld{Node: &shards.Node{Pair: pair}}
	w.Session = sqltest.SessionIn(t, pair.Cluster, "postgres", "create extension gpujoin", tables.String(), shards.Customers+`alter table customer rename to "1_1"`)
	w.offloaded = sqltest.SessionIn(t, pair.Cluster, "postgres", sqltest.Forced, "set gpujoin.queue_timeout = '1min'")
	w.native = sqltest.SessionIn(t, pair.Cluster, "postgres", sqltest.Native)
	return w
}

// jobs returns how many jobs the daemon has admitted.
func (w *shardWorld) jobs(t *testing.T) int {
	t.Helper()
	n, err := w.Jobs(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// Statements over shards are offloaded whatever way they are sent.
func TestShards(t *testing.T) {
	w := startShards(t)
	t.Run("sessions", w.sessions)
	t.Run("parameters", w.parameters)
	t.Run("copy", w.copy)
	t.Run("intermediate results", w.intermediate)
}

// sessions executes the statements of all shards in many sessions at once.
func (w *shardWorld) sessions(t *testing.T) {
	before := w.jobs(t)
	work := make(chan int, pairs)
	for i := range pairs {
		work <- i
	}
	close(work)
	got, errs := make([]*harness.Result, pairs), make([]error, pairs)
	var all sync.WaitGroup
	for range sessions {
		s := sqltest.SessionIn(t, w.Cluster, "postgres", sqltest.Forced, "set gpujoin.queue_timeout = '1min'")
		all.Go(func() {
			for i := range work {
				ctx, cancel := sqltest.Bounded()
				got[i], errs[i] = s.Query(ctx, onShards(partialAggregate, i))
				cancel()
			}
		})
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	if n := w.jobs(t) - before; n != pairs {
		t.Errorf("%d jobs for %d pairs of shards", n, pairs)
	}
	for i, r := range got {
		if d := harness.SameRows(sqltest.Query(t, w.native, onShards(partialAggregate, i)), r); d != "" {
			t.Errorf("shards %d: %s", i, d)
		}
	}
}

// parameters executes a statement with values and binary results, directly and prepared.
func (w *shardWorld) parameters(t *testing.T) {
	sql := onShards(withParameter, 3)
	const bigint, binary = 20, 1
	ctx, cancel := sqltest.Bounded()
	defer cancel()
	for _, s := range []*harness.Session{w.offloaded, w.native} {
		if _, err := s.Conn().Prepare(ctx, "shard", sql, []uint32{bigint}); err != nil {
			t.Fatal(err)
		}
	}
	for how, execute := range map[string]func(*pgconn.PgConn, []byte) *pgconn.Result{
		"directly": func(c *pgconn.PgConn, value []byte) *pgconn.Result {
			return c.ExecParams(ctx, sql, [][]byte{value}, []uint32{bigint}, nil, []int16{binary}).Read()
		},
		"prepared": func(c *pgconn.PgConn, value []byte) *pgconn.Result {
			return c.ExecPrepared(ctx, "shard", [][]byte{value}, nil, []int16{binary}).Read()
		},
	} {
		before := w.jobs(t)
		// from the sixth execution on, the plan may be one for all values
		values := []string{"10", "2500", "0", "1", "3000", "700", "3", "2999"}
		for _, value := range values {
			want, got := execute(w.native.Conn(), []byte(value)), execute(w.offloaded.Conn(), []byte(value))
			if err := errors.Join(want.Err, got.Err); err != nil {
				t.Fatalf("%s, %s: %v", how, value, err)
			}
			if !sameValues(want.Rows, got.Rows) {
				t.Errorf("%s, %s: %d rows, natively %d, or other values", how, value, len(got.Rows), len(want.Rows))
			}
		}
		if n := w.jobs(t) - before; n != len(values) {
			t.Errorf("%s: %d jobs for %d executions", how, n, len(values))
		}
	}
}

func sameValues(a, b [][][]byte) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !bytes.Equal(bytes.Join(a[i], []byte{0}), bytes.Join(b[i], []byte{0})) {
			return false
		}
	}
	return true
}

// copy reads a statement's rows by COPY in binary form.
func (w *shardWorld) copy(t *testing.T) {
	before := w.jobs(t)
	var out [2]bytes.Buffer
	for i, s := range []*harness.Session{w.native, w.offloaded} {
		ctx, cancel := context.WithTimeout(t.Context(), sqltest.Patience)
		if _, err := s.Conn().CopyTo(ctx, &out[i], "COPY ("+onShards(partialAggregate, 5)+") TO STDOUT WITH (FORMAT binary)"); err != nil {
			t.Error(err)
		}
		cancel()
	}
	if out[0].Len() < 100 || !bytes.Equal(out[0].Bytes(), out[1].Bytes()) {
		t.Errorf("%d bytes, natively %d, or other bytes", out[1].Len(), out[0].Len())
	}
	if n := w.jobs(t) - before; n != 1 {
		t.Errorf("%d jobs", n)
	}
}

// intermediate joins a shard with rows that a function returns, as those of an earlier
// statement. A volatile function keeps its join native, and gpujoin says so.
func (w *shardWorld) intermediate(t *testing.T) {
	sql := fmt.Sprintf(withIntermediate, firstShard+7)
	sqltest.Exec(t, w.offloaded, "set gpujoin.explain_rejected = on")
	for _, c := range []struct {
		volatility, notice string
		jobs               int
	}{{"volatile", "stay native: volatile", 0}, {"stable", "", 1}} {
		sqltest.Exec(t, w.Session, readShipped(c.volatility))
		before := w.jobs(t)
		w.offloaded.Notices()
		if d := harness.SameRows(sqltest.Query(t, w.native, sql), sqltest.Query(t, w.offloaded, sql)); d != "" {
			t.Errorf("%s: %s", c.volatility, d)
		}
		if n := w.jobs(t) - before; n != c.jobs {
			t.Errorf("%s: %d jobs instead of %d", c.volatility, n, c.jobs)
		}
		if notices := strings.Join(w.offloaded.Notices(), "\n"); !strings.Contains(notices, c.notice) || c.notice == "" && notices != "" {
			t.Errorf("%s: %q", c.volatility, notices)
		}
	}
}
