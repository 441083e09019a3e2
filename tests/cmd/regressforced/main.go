// Command coresuite runs PostgreSQL's own regression suite twice in private
// servers, once without the extension and once with every possible join
// offloaded, and compares the results of all queries. It needs PostgreSQL's
// source, which no package contains.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"gpujoin/tests/harness"
)

func main() {
	source := flag.String("source", "", "PostgreSQL 15's source tree")
	flag.Parse()
	failed, err := run(*source)
	if err != nil {
		fmt.Fprintln(os.Stderr, "coresuite:", err)
		os.Exit(2)
	}
	if failed > 0 {
		os.Exit(1)
	}
}

func run(source string) (failed int, err error) {
	suite := filepath.Join(source, "src", "test", "regress")
	if _, err := os.Stat(filepath.Join(suite, "parallel_schedule")); err != nil {
		return 0, fmt.Errorf("no source of PostgreSQL in %q: %w", source, err)
	}
	env, err := harness.Prepare()
	if err != nil {
		return 0, err
	}
	dir, err := os.MkdirTemp(env.Work, "core")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	// The server's user must be able to read it.
	if err := os.Chmod(dir, 0o755); err != nil {
		return 0, err
	}
	if err := prepare(suite, dir); err != nil {
		return 0, err
	}
	for _, r := range []struct {
		name     string
		settings harness.Settings
	}{
		{"without", harness.Settings{"session_preload_libraries": "''"}},
		{"forced", harness.Settings{"gpujoin.force": "on", "gpujoin.min_rows": "0"}},
	} {
		fmt.Printf("running the suite: %s\n", r.name)
		if err := runSuite(env, dir, r.name, r.settings); err != nil {
			return 0, fmt.Errorf("%s: %w", r.name, err)
		}
	}
	return compare(filepath.Join(dir, "without", "results"), filepath.Join(dir, "forced", "results"))
}

// prepare copies the suite's files to where the server can read them, and builds its
// library.
func prepare(suite, dir string) error {
	for _, what := range []string{"sql", "expected", "data", "parallel_schedule"} {
		if out, err := exec.Command("cp", "-r", filepath.Join(suite, what), dir).CombinedOutput(); err != nil {
			return fmt.Errorf("copying %s: %w: %s", what, err, out)
		}
	}
	include, err := exec.Command(harness.PGConfig(), "--includedir-server").Output()
	if err != nil {
		return fmt.Errorf("pg_config: %w", err)
	}
	out, err := exec.Command("gcc", "-shared", "-fPIC", "-O1", "-w", "-I"+strings.TrimSpace(string(include)),
		"-o", filepath.Join(dir, "regress.so"), filepath.Join(suite, "regress.c")).CombinedOutput()
	if err != nil {
		return fmt.Errorf("regress.so: %w: %s", err, out)
	}
	return nil
}

// database sets what the suite expects in its database.
const database = `
	alter database regression set lc_messages to 'C';
	alter database regression set lc_monetary to 'C';
	alter database regression set lc_numeric to 'C';
	alter database regression set lc_time to 'C';
	alter database regression set bytea_output to 'hex';
	alter database regression set timezone_abbreviations to 'Default'`

func runSuite(env *harness.Env, dir, name string, settings harness.Settings) (err error) {
	settings["timezone"] = "'PST8PDT'"
	settings["datestyle"] = "'Postgres, MDY'"
	pair, err := env.StartPair(settings, harness.DaemonOptions{"calibrate": "false", "extent-size": "1MB"})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, pair.Stop()) }()
	cluster := pair.Cluster
	ctx := context.Background()
	s, err := cluster.Connect(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	for _, sql := range []string{"create database regression template template0 encoding 'UTF8' locale 'C'", database} {
		if err := s.Exec(ctx, sql); err != nil {
			return err
		}
	}
	out := filepath.Join(dir, name)
	for _, path := range []string{out, filepath.Join(out, "results"), filepath.Join(out, "testtablespace")} {
		if err := env.Account.Mkdir(path); err != nil {
			return err
		}
	}
	cmd := env.Account.Command(out, env.Prefix.Regress, "--use-existing", "--dbname=regression", "--user=postgres",
		"--host="+cluster.Sock, fmt.Sprintf("--port=%d", harness.Port), "--bindir="+env.Prefix.SystemBin,
		"--dlpath="+dir, "--inputdir="+dir, "--outputdir="+out, "--schedule="+filepath.Join(dir, "parallel_schedule"))
	cmd.Env = append(cmd.Env, "PGTZ=PST8PDT", "PGDATESTYLE=Postgres, MDY")
	// Tests fail because plans differ; only the comparison counts.
	text, err := cmd.CombinedOutput()
	if _, ok := errors.AsType[*exec.ExitError](err); err != nil && !ok {
		return fmt.Errorf("pg_regress: %w", err)
	}
	if strings.Contains(cluster.Server().Log(), "terminated by signal") {
		return fmt.Errorf("a server process crashed:\n%s", cluster.Server().LogTail(20))
	}
	if pair.Daemon.Exited() {
		return fmt.Errorf("the daemon ended:\n%s", pair.Daemon.LogTail(20))
	}
	if !strings.Contains(string(text), " tests ") {
		return fmt.Errorf("pg_regress did not finish:\n%s", text)
	}
	return nil
}
