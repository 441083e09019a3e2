package soak

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"

	"gpujoin/tests/harness"
	"gpujoin/tests/synthetic"
)

// bank has the tables of the short transactions.
var bank = synthetic.Bank{Branches: 24, Accounts: 2000}

// world is the server, with its daemon, that all clients work on.
type world struct{ pair *harness.Pair }

var settings = harness.Settings{
	"shared_buffers":   "256MB",
	"max_connections":  "120",
	"autovacuum":       "on", // as users have it
	"lock_timeout":     "'5s'",
	"deadlock_timeout": "'200ms'",
	"max_wal_size":     "1GB",
	// The server's background processes keep files open that it has dropped, until the
	// next checkpoint.
	"checkpoint_timeout": "'30s'",
	"jit":                "off",
}

const (
	facts = 150_000
	dims  = 20_000
)

// tables: fact and dim are kept in the daemon's memory; moving is emptied, altered and
// indexed all the time.
var tables = fmt.Sprintf(`
	create table fact as select i as id, (i * 7919) %% %[2]d as k, (i %% 23)::int as g, i * 3 as v, 'fact ' || i as note from generate_series(1::int8, %[1]d) i;
	create table dim as select i as k, i * 10 as v, 'label ' || i as label from generate_series(0::int8, %[2]d - 1) i;
	create table moving as select * from dim;
	create index on fact (id);
	alter table dim add primary key (k);`, facts, dims)

func start(ctx context.Context, env *harness.Env) (w *world, err error) {
	pair, err := env.StartPair(settings, harness.DaemonOptions{"memory-budget": "1GB", "memory-warm": "64MB", "extent-size": "1MB"})
	if err != nil {
		return nil, err
	}
	w = &world{pair}
	defer func() {
		if err != nil {
			err = errors.Join(err, pair.Stop())
		}
	}()
	s, err := pair.Cluster.Connect(ctx)
	if err != nil {
		return w, err
	}
	defer s.Close()
	for _, sql := range []string{"create extension gpujoin", tables, bank.SQL(), "vacuum analyze"} {
		if err := s.Exec(ctx, sql); err != nil {
			return w, err
		}
	}
	return w, nil
}

// connect opens a session, with the extension or without it.
func (w *world) connect(ctx context.Context, m mode) (*harness.Session, error) {
	if m == with {
		return w.pair.Cluster.Connect(ctx)
	}
	return w.pair.Cluster.ConnectWith(ctx, "session_preload_libraries", "")
}

// query draws a query whose result does not depend on the order of rows.
func query(r *rand.Rand) string {
	from := r.IntN(facts)
	switch r.IntN(6) {
	case 0:
		return "select count(*), sum(f.v), sum(d.v) from fact f join dim d on f.k = d.k"
	case 1:
		return "select f.g, count(*), sum(f.v), min(d.label) from fact f join dim d using (k) group by f.g"
	case 2:
		return fmt.Sprintf("select f.id, f.note, d.label from fact f join dim d on f.k = d.k where f.id between %d and %d", from, from+3000)
	case 3:
		return "select count(*), sum(m.v), sum(f.v) from fact f join moving m on f.k = m.k"
	case 4:
		return fmt.Sprintf("select g, count(*), max(v) from fact where v > %d group by g", from)
	default:
		return fmt.Sprintf("select count(*), sum(f.id) from fact f where exists (select from dim d where d.k = f.k and d.v < %d)", from)
	}
}

// over checks that nothing is left of the run: no job and no reservation. Sessions of the
// clients have ended.
func (w *world) over(ctx context.Context) error {
	s, err := w.pair.Cluster.Connect(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	const left = "select concat_ws(', ', 'jobs ' || jsonb_array_length(status -> 'jobs'), 'queued ' || (status ->> 'queued')) from gpujoin.daemon_status()"
	text := ""
	for range 200 {
		if text, err = s.One(ctx, left); err != nil || text == "jobs 0, queued 0" {
			return err
		}
		if err := s.Exec(ctx, "select pg_sleep(0.05)"); err != nil {
			return err
		}
	}
	return fmt.Errorf("after the run the daemon has %s", text)
}

// joins returns how many joins the daemon has executed.
func (w *world) joins(ctx context.Context) (n int64, err error) {
	s, err := w.pair.Cluster.Connect(ctx)
	if err != nil {
		return 0, err
	}
	defer s.Close()
	text, err := s.One(ctx, "select coalesce(status #>> '{totals,joins}', '0') from gpujoin.daemon_status()")
	if err == nil {
		_, err = fmt.Sscan(text, &n)
	}
	return n, err
}

// broken returns what the logs say of failures, "" if nothing.
func (w *world) broken() string {
	if w.pair.Daemon.Exited() {
		return "the daemon has ended:\n" + w.pair.Daemon.LogTail(40)
	}
	for _, log := range []string{w.pair.Cluster.Server().Log(), w.pair.Daemon.Log()} {
		for line := range strings.Lines(log) {
			for _, sign := range []string{"PANIC", "terminated by signal", "panic:", "fatal error", "violation"} {
				if strings.Contains(line, sign) {
					return line
				}
			}
		}
	}
	return ""
}
