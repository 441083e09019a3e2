// Package foreign starts two private servers and a daemon: a source, and a local server with
// the extension that reads the source's tables as foreign tables.
package foreign

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"gpujoin/tests/harness"
)

// World is both servers and the daemon of the local one.
type World struct {
	Env    *harness.Env
	Source *harness.Cluster
	Local  *harness.Cluster
	Daemon *harness.Daemon
	// Address is where the source listens on the loopback network, "" if it does not.
	Address string

	daemon harness.DaemonOptions
}

// Options say how a World starts. Zero values have defaults.
type Options struct {
	SourceEnv  *harness.Env // nil: the local server's
	SourceName string       // of a source whose files are kept for the next run
	Source     harness.Settings
	Local      harness.Settings
	Daemon     harness.DaemonOptions
	Network    bool // the source listens on the loopback network, too, and trusts it
	// Shared: the source has the extension and uses the same daemon, so that its own tables
	// can be kept in the daemon's memory.
	Shared bool
}

// SourceSettings returns the settings that a source of mirrors needs. Its commits are
// durable: WAL that is not flushed is not sent.
func SourceSettings() harness.Settings {
	return harness.Settings{"wal_level": "logical", "synchronous_commit": "on", "max_replication_slots": "10", "max_wal_senders": "10",
		"max_prepared_transactions": "20", "session_preload_libraries": "''"}
}

// Start starts the local server, its daemon, and the source.
func Start(env *harness.Env, o Options) (w *World, err error) {
	w = &World{Env: env, daemon: o.Daemon}
	defer func() {
		if err != nil {
			err = errors.Join(err, w.Stop())
		}
	}()
	if w.Local, err = env.NewCluster("", o.Local); err != nil {
		return w, err
	}
	if w.Daemon, err = w.Local.StartDaemon(o.Daemon); err != nil {
		return w, err
	}
	settings := SourceSettings()
	if o.Shared {
		settings["session_preload_libraries"] = "'gpujoin'"
		settings["gpujoin.socket"] = "'" + w.Local.DaemonSocket() + "'"
	}
	if o.Network {
		w.Address = loopback()
		settings["listen_addresses"] = "'" + w.Address + "'"
	}
	maps.Copy(settings, o.Source)
	if o.SourceEnv == nil {
		o.SourceEnv = env
	}
	if w.Source, err = o.SourceEnv.NewCluster(o.SourceName, settings); err != nil {
		return w, err
	}
	if o.Network {
		return w, w.PrependHBA("host all all 127.0.0.0/8 trust\n")
	}
	return w, nil
}

// SourceEnv fetches another major version of PostgreSQL, 16 or 18, for sources, which have no
// extension.
func SourceEnv(root, major string) (*harness.Env, error) {
	cmd := exec.Command("tools/fetch-postgres.sh", "server", major)
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("fetching PostgreSQL %s: %w", major, err)
	}
	return harness.PrepareServer(root, harness.Server{PGConfig: filepath.Join(strings.TrimSpace(string(out)), "bin", "pg_config"), Private: "source-" + major})
}

// loopback returns an address of the loopback network that no other run uses.
func loopback() string {
	pid := os.Getpid()
	return fmt.Sprintf("127.%d.%d.%d", 64+pid>>16%128, pid>>8&255, 1+pid%254)
}

// Stop stops everything.
func (w *World) Stop() error {
	var errs []error
	if w.Daemon != nil {
		errs = append(errs, w.Daemon.Stop())
	}
	for _, c := range []*harness.Cluster{w.Source, w.Local} {
		if c != nil {
			errs = append(errs, c.Stop())
		}
	}
	return errors.Join(errs...)
}

// KillDaemon ends the daemon as a crash would, and starts another one after a pause.
func (w *World) KillDaemon(pause time.Duration) error {
	if w.Daemon.Exited() {
		return fmt.Errorf("the daemon has ended:\n%s", w.Daemon.LogTail(40))
	}
	if err := w.Daemon.Kill(); err != nil {
		return err
	}
	time.Sleep(pause)
	d, err := w.Local.StartDaemon(w.daemon)
	if err == nil {
		w.Daemon = d
	}
	return err
}

// PrependHBA puts lines before those of the source's pg_hba.conf and waits until they hold.
func (w *World) PrependHBA(lines string) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	path := filepath.Join(w.Source.Data, "pg_hba.conf")
	old, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := os.WriteFile(path, append([]byte(lines), old...), 0o600); err != nil {
		return err
	}
	s, err := w.Source.Connect(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	before, err := s.One(ctx, "select pg_conf_load_time()")
	for now := before; err == nil && now == before; now, err = s.One(ctx, "select pg_conf_load_time()") {
		if err := s.Exec(ctx, "select pg_reload_conf(); select pg_sleep(0.1)"); err != nil {
			return err
		}
	}
	return err
}

// Keywords are the options of a server that reaches the source through its socket.
func (w *World) Keywords() map[string]string {
	return map[string]string{"host": w.Source.Sock, "port": fmt.Sprint(harness.Port), "dbname": "postgres"}
}

// ServerSQL returns the statements that make a foreign server, a mapping of the current user,
// and a schema of the same name for its tables.
func ServerSQL(name string, server, mapping map[string]string) string {
	return fmt.Sprintf("create server %[1]s foreign data wrapper gpujoin_fdw %[2]s; create user mapping for current_user server %[1]s %[3]s; create schema if not exists %[1]s",
		name, optionsSQL(server), optionsSQL(mapping))
}

// ImportSQL returns the statement that makes foreign tables of a source's schema public in
// the schema of a server's name; no names: of all tables.
func ImportSQL(name string, tables ...string) string {
	limit := ""
	if len(tables) > 0 {
		limit = "limit to (" + strings.Join(tables, ", ") + ") "
	}
	return fmt.Sprintf("import foreign schema public %sfrom server %s into %s", limit, name, name)
}

func optionsSQL(options map[string]string) string {
	var list []string
	for _, name := range slices.Sorted(maps.Keys(options)) {
		list = append(list, name+" '"+strings.ReplaceAll(options[name], "'", "''")+"'")
	}
	if list == nil {
		return ""
	}
	return "options (" + strings.Join(list, ", ") + ")"
}

// Import makes the extension, a server and a schema of this name, and foreign tables of the
// source's schema public, in a session of the local server.
func (w *World) Import(ctx context.Context, s *harness.Session, name string, tables ...string) error {
	for _, sql := range []string{
		"create extension if not exists gpujoin",
		ServerSQL(name, w.Keywords(), map[string]string{"user": "postgres"}),
		ImportSQL(name, tables...),
	} {
		if err := s.Exec(ctx, sql); err != nil {
			return fmt.Errorf("%s: %w", sql, err)
		}
	}
	return nil
}

// Mirror mirrors foreign tables and waits until all are ready.
func Mirror(ctx context.Context, s *harness.Session, tables ...string) error {
	for _, wait := range []string{"false", "true"} { // they load together
		for _, t := range tables {
			if err := s.Exec(ctx, fmt.Sprintf("select gpujoin.mirror('%s', wait => %s)", t, wait)); err != nil {
				return fmt.Errorf("mirroring %s: %w", t, err)
			}
		}
	}
	return nil
}

// Status describes the mirrors of the local server in lines, for messages.
func (w *World) Status(ctx context.Context) string {
	s, err := w.Local.Connect(ctx)
	if err != nil {
		return "no local server"
	}
	defer s.Close()
	r, err := s.Query(ctx, "select * from gpujoin.mirrors")
	if err != nil {
		return err.Error()
	}
	return strings.Join(append([]string{strings.Join(r.Columns, "\t")}, r.Rows...), "\n")
}
