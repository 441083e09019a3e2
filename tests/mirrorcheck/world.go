package mirrorcheck

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"gpujoin/tests/harness"
	"gpujoin/tests/harness/foreign"
)

// The foreign servers, each with a schema of its name: the first reaches the source through
// its socket and has a temporary slot, the second through a network that fails, with a
// permanent slot.
var servers = []string{"near", "far"}

const slot = "kept_for_far"

// world is the two servers, with the daemon, that everybody works on.
type world struct {
	*foreign.World
	network *foreign.Network
	sizes   sizes
	plans   bool          // the local server has auto_explain
	pause   time.Duration // of a writer between two transactions, at most

	gate sync.RWMutex // a writer's transaction holds it for reading
	calm sync.Mutex   // held during a fault, until its consequences are over
	// disturbed changes when a fault begins, and when it is over.
	disturbed atomic.Int64
	over      atomic.Int64          // when the last fault was over, in ns since 1970; 0: there was none
	behind    atomic.Bool           // writers wait for the mirrors
	committed [writers]atomic.Int64 // beats of which the commit is known
	commits   atomic.Int64
}

// start starts everything, fills the source's tables, and mirrors them.
func start(ctx context.Context, env *harness.Env, o Options) (w *world, err error) {
	_, missing := os.Stat(filepath.Join(env.Prefix.Lib, "auto_explain.so"))
	w = &world{sizes: sizesOf(o.Quick), plans: missing == nil, pause: 60 * time.Millisecond}
	libraries := "gpujoin"
	if w.plans {
		libraries += ",auto_explain"
	}
	w.World, err = foreign.Start(env, foreign.Options{
		SourceEnv: o.Source,
		Source: harness.Settings{"autovacuum": "on", "autovacuum_naptime": "'5s'", "lock_timeout": "'2s'", "deadlock_timeout": "'200ms'",
			"wal_sender_timeout": "'20s'", "max_connections": "60", "max_wal_size": "1GB"},
		Local: harness.Settings{"session_preload_libraries": "'" + libraries + "'", "jit": "off", "max_connections": "60",
			"parallel_setup_cost": "0", "parallel_tuple_cost": "0", "deadlock_timeout": "'200ms'"},
		Daemon:  harness.DaemonOptions{"calibrate": "false", "memory-budget": "1500MB", "extent-size": "1MB"},
		Network: true,
	})
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, w.stop())
		}
	}()
	if w.network, err = w.OpenNetwork(); err != nil {
		return w, err
	}
	return w, w.fill(ctx)
}

func (w *world) fill(ctx context.Context) error {
	source, err := w.Source.Connect(ctx)
	if err != nil {
		return err
	}
	defer source.Close()
	if err := source.Exec(ctx, w.sizes.schema()); err != nil {
		return err
	}
	if err := source.Exec(ctx, "vacuum analyze"); err != nil {
		return err
	}
	local, err := w.Local.Connect(ctx)
	if err != nil {
		return err
	}
	defer local.Close()
	far, err := w.network.Keywords()
	if err != nil {
		return err
	}
	far["slot"] = slot
	sql := []string{"create extension gpujoin",
		fmt.Sprintf("create table products as select i as product, 'product ' || i as name from generate_series(1, %d) i; analyze products", w.sizes.products)}
	for i, keywords := range []map[string]string{w.Keywords(), far} {
		// Writers and readers share few cores.
		keywords["freshness_timeout"] = "8s"
		sql = append(sql, foreign.ServerSQL(servers[i], keywords, map[string]string{"user": "postgres"}), foreign.ImportSQL(servers[i]))
	}
	for _, statement := range sql {
		if err := local.Exec(ctx, statement); err != nil {
			return fmt.Errorf("%s: %w", statement, err)
		}
	}
	return w.mirrored(ctx, local)
}

// mirrored returns when all tables that can be mirrored are.
func (w *world) mirrored(ctx context.Context, s *harness.Session) error {
	var tables []string
	for _, name := range servers {
		for _, t := range mirrored {
			tables = append(tables, name+"."+t)
		}
	}
	return foreign.Mirror(ctx, s, tables...)
}

func (w *world) stop() error {
	if w.network != nil {
		w.network.Close()
	}
	return w.World.Stop()
}

// describe returns how far mirrors and the source's senders are, in lines.
func (w *world) describe() string {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	text := w.Status(ctx)
	s, err := w.Source.Connect(ctx)
	if err != nil {
		return text
	}
	defer s.Close()
	r, err := s.Query(ctx, `select pg_current_wal_insert_lsn(), pg_current_wal_flush_lsn(), application_name, state, sent_lsn, write_lsn, flush_lsn, replay_lsn, a.wait_event
		from pg_stat_replication join pg_stat_activity a using (pid, application_name, state)`)
	if err != nil {
		return text
	}
	return text + "\n" + strings.Join(r.Columns, "\t") + "\n" + strings.Join(r.Rows, "\n")
}

// floor returns the beats that a query which begins now must see if it asks for the latest.
func (w *world) floor() (n [writers]int64) {
	for i := range n {
		n[i] = w.committed[i].Load()
	}
	return n
}

// broken returns what the logs say of failures that nobody caused, "" if nothing. No fault
// may be going on.
func (w *world) broken() string {
	if w.Daemon.Exited() {
		return "the daemon has ended:\n" + w.Daemon.LogTail(40)
	}
	for _, c := range []*harness.Cluster{w.Source, w.Local} {
		for line := range strings.Lines(c.Server().Log()) {
			for _, sign := range []string{"PANIC", "TRAP:", "terminated by signal 6", "terminated by signal 11", "invalid page"} {
				if strings.Contains(line, sign) {
					return "a server's log: " + line
				}
			}
		}
	}
	for line := range strings.Lines(w.Daemon.Log()) {
		for _, sign := range []string{"panic", "fatal error", "violation", "internal error"} {
			if strings.Contains(line, sign) {
				return "the daemon's log: " + line
			}
		}
	}
	return ""
}
