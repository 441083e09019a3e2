package keptcheck

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"gpujoin/tests/harness"
)

// patience is how long a statement may take, and a server or a daemon to be back. What
// takes longer hangs.
const patience = 90 * time.Second

// world is the server that everybody works on, with its daemon.
type world struct {
	cluster *harness.Cluster
	tables  []table
	plans   bool // the server has auto_explain

	mu     sync.Mutex // for daemon
	daemon *harness.Daemon
	// disturbed changes when something begins that may end sessions or jobs, and when it is over.
	disturbed atomic.Int64
	kills     atomic.Int64 // of backends
}

// settings draws the server's settings from a seed: what stamps pages differs.
func settings(r *rand.Rand, plans bool) harness.Settings {
	libraries := "gpujoin"
	if plans {
		libraries += ",auto_explain"
	}
	s := harness.Settings{
		"session_preload_libraries":    "'" + libraries + "'",
		"shared_buffers":               "640MB",
		"max_wal_size":                 "1GB",
		"checkpoint_timeout":           "'30s'",
		"max_connections":              "60",
		"max_prepared_transactions":    "40",
		"max_worker_processes":         "16",
		"max_parallel_workers":         "16",
		"parallel_setup_cost":          "0",
		"parallel_tuple_cost":          "0",
		"min_parallel_table_scan_size": "0",
		"synchronous_commit":           "on", // transactions turn it off
		"deadlock_timeout":             "'200ms'",
		"lock_timeout":                 "'1s'",
		"statement_timeout":            "'30s'",
		"work_mem":                     "'32MB'",
		"jit":                          "off",
		"restart_after_crash":          "on",
		"wal_log_hints":                one(r, "off", "on"),
	}
	if r.IntN(3) == 0 { // tables that were created in the same transaction are not logged
		s["wal_level"], s["max_wal_senders"] = "minimal", "0"
	}
	return s
}

// start starts the server and the daemon and fills the tables.
func start(ctx context.Context, env *harness.Env, r *rand.Rand, quick bool) (w *world, err error) {
	_, missing := os.Stat(filepath.Join(env.Prefix.Lib, "auto_explain.so"))
	w = &world{tables: tables(quick), plans: missing == nil}
	if w.cluster, err = env.NewCluster("", settings(r, w.plans)); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, w.stop())
		}
	}()
	if w.daemon, err = w.cluster.StartDaemon(w.daemonOptions(r)); err != nil {
		return w, err
	}
	s, err := w.cluster.Connect(ctx)
	if err != nil {
		return w, err
	}
	defer s.Close()
	space := filepath.Join(w.cluster.Dir, "space")
	if err := env.Account.Mkdir(space); err != nil {
		return w, err
	}
	for _, sql := range append(setup(w.tables), "create tablespace second location '"+space+"'") {
		if err := s.Exec(ctx, "set statement_timeout = 0"); err != nil {
			return w, err
		}
		if err := s.Exec(ctx, sql); err != nil {
			return w, fmt.Errorf("%s: %w", sql, err)
		}
	}
	return w, nil
}

// daemonOptions draws the options of a daemon: now and then there is too little memory to
// keep everything.
func (w *world) daemonOptions(r *rand.Rand) harness.DaemonOptions {
	o := harness.DaemonOptions{"calibrate": "false", "memory-budget": "1500MB", "extent-size": one(r, "1MB", "1MB", "4MB")}
	if r.IntN(4) == 0 {
		o["keep-memory"] = one(r, "8MB", "16MB", "40MB")
	}
	return o
}

func (w *world) stop() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	var err error
	if w.daemon != nil {
		err = w.daemon.Stop()
	}
	return errors.Join(err, w.cluster.Stop())
}

// connect opens a session as soon as the server accepts one.
func (w *world) connect(ctx context.Context) (*harness.Session, error) {
	for deadline := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
		s, err := w.cluster.Connect(ctx)
		if err == nil || ctx.Err() != nil {
			return s, err
		}
		if time.Now().After(deadline) {
			return nil, fmt.Errorf("the server does not come back: %w", err)
		}
	}
}

// disturb runs f, which may end sessions and jobs.
func (w *world) disturb(f func() error) error {
	w.disturbed.Add(1)
	defer w.disturbed.Add(1)
	return f()
}

// killDaemon kills the daemon and starts another one.
func (w *world) killDaemon(r *rand.Rand) error {
	return w.disturb(func() error {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.daemon.Exited() {
			return fmt.Errorf("the daemon has ended:\n%s", w.daemon.LogTail(40))
		}
		if err := w.daemon.Kill(); err != nil {
			return err
		}
		time.Sleep(time.Duration(r.IntN(300)) * time.Millisecond)
		d, err := w.cluster.StartDaemon(w.daemonOptions(r))
		if err == nil {
			w.daemon = d
		}
		return err
	})
}

// crash kills a backend, so that the server goes through crash recovery, and loses what was
// not flushed.
func (w *world) crash(ctx context.Context, s *harness.Session) error {
	return w.disturb(func() error {
		victim, err := w.cluster.Connect(ctx)
		if err != nil {
			return nil // there is no server to crash
		}
		w.kills.Add(1)
		if err := syscall.Kill(victim.PID(), syscall.SIGKILL); err != nil {
			return err
		}
		deadline := time.Now().Add(patience)
		for s.Exec(ctx, "select 1") == nil && time.Now().Before(deadline) {
			time.Sleep(10 * time.Millisecond)
		}
		_ = victim.Close() // it is dead
		again, err := w.connect(ctx)
		if err != nil {
			return err
		}
		return again.Close()
	})
}

// restart stops the server, in one of two ways, and starts it again.
func (w *world) restart(mode syscall.Signal) error {
	return w.disturb(func() error {
		if err := w.cluster.Server().Stop(patience, mode); err != nil {
			return err
		}
		return w.cluster.Start()
	})
}

// keptStatus returns what the daemon keeps, in one line.
func (w *world) keptStatus() string {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	s, err := w.cluster.Connect(ctx)
	if err != nil {
		return "no server"
	}
	defer s.Close()
	text, err := s.One(ctx, `select concat_ws(' ', 'limit', status #> '{kept,limit}', 'bytes', status #> '{kept,bytes}', 'values', status #> '{kept,values}',
		'pending', status #> '{kept,pending}', 'captured', status #> '{kept,captured}', 'evicted', status #> '{kept,evicted}', 'refused', status #> '{kept,refused}',
		'blocks', status #> '{kept,blocks}', 'tables', jsonb_array_length(status #> '{kept,tables}')) from gpujoin.daemon_status()`)
	if err != nil {
		return "no daemon"
	}
	return "kept: " + text
}

// broken returns what the logs say of failures that nobody caused, "" if nothing.
func (w *world) broken() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.daemon.Exited() {
		return "the daemon has ended:\n" + w.daemon.LogTail(40)
	}
	for line := range strings.Lines(w.cluster.Server().Log()) {
		for _, sign := range []string{"PANIC", "TRAP:", "terminated by signal 6", "terminated by signal 11", "invalid page", "could not read block"} {
			if strings.Contains(line, sign) {
				return "the server's log: " + line
			}
		}
	}
	for line := range strings.Lines(w.daemon.Log()) {
		for _, sign := range []string{"panic", "fatal error", "violation", "internal"} {
			if strings.Contains(line, sign) {
				return "the daemon's log: " + line
			}
		}
	}
	return ""
}
